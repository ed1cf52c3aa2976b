/// Loaders for what libvips' own don't tell or don't read.
///
/// Each makes a `VipsImage` whose rows are decoded from top to bottom when they are asked for, and
/// leaves its error in libvips' buffer.
#ifndef PIPELINE_PICTURE_LOADERS_H
#define PIPELINE_PICTURE_LOADERS_H

#include <vips/vips.h>

/// A JPEG that is decoded, and what libjpeg finds wrong with it.
typedef struct pipeline_jpeg pipeline_jpeg;

/// What libjpeg found wrong.
typedef struct {
  /// How many times it warned.
  long warnings;
  /// What it said first, without a full stop.
  char first[256];
  /// The part of the rows, 0 to 1, that the coded data are there for; less than 1 where they end
  /// before the picture does, at a marker that is none within them or with the file.
  double present;
  /// Whether some of the coded data are missing, also where that is in a later pass.
  int lacks_data;
  /// Whether the file ends before the picture is marked as ended.
  int lacks_end;
} pipeline_jpeg_faults;

/// Starts to decode.
///
/// Why not libvips' loader: it forgets all warnings but the first, tells none of the last rows, and
/// does not look at what follows them, which is where a picture whose code was damaged has bytes
/// left. Source: jpeg2vips.c of libvips 8.14, libjpeg.txt.
///
/// - Parameters:
///   - header: the picture as libvips' loader opened it, whose metadata the new one gets.
///   - shrink: 1, 2, 4 or 8.
///   - out: the picture.
/// - Returns: the decoder, to be given to `pipeline_jpeg_release`; `NULL` for an error.
pipeline_jpeg *pipeline_jpeg_load(VipsSource *source, VipsImage *header, int shrink,
                                  VipsImage **out);

/// Reads what is left of rows and of the file up to the end of the picture.
///
/// - Returns: what was found wrong, valid as long as the decoder.
const pipeline_jpeg_faults *pipeline_jpeg_finish(pipeline_jpeg *jpeg);

/// Gives the decoder up; it lives as long as its picture.
void pipeline_jpeg_release(pipeline_jpeg *jpeg);

/// Opens the first page of a TIFF by libtiff's own conversion to RGB with alpha.
///
/// It reads what libvips' loader does not: YCbCr with subsampled chroma outside of JPEG.
/// Source: TIFFRGBAImage(3TIFF).
///
/// - Returns: 0, or -1 for an error.
int pipeline_tiff_load_rgba(VipsSource *source, VipsImage **out);

/// What `pipeline_png_check` finds.
typedef enum {
  PIPELINE_PNG_WHOLE,
  /// The checksum of a chunk that makes the picture is another.
  PIPELINE_PNG_DAMAGED,
  /// The chunk that ends the picture is not there.
  PIPELINE_PNG_CUT,
  /// The bytes can't be read.
  PIPELINE_PNG_UNREADABLE,
} pipeline_png_state;

/// Compares the checksums of a PNG's chunks.
///
/// libvips asks libpng for rows only, so the checksum behind the last of them is never compared.
/// Source: PNG specification, section 5.3.
pipeline_png_state pipeline_png_check(VipsSource *source);

#endif
