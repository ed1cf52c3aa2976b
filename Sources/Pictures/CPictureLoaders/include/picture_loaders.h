/// Loaders for what libvips' own loaders don't report or don't read.
///
/// Each creates a `VipsImage` whose rows are decoded from top to bottom on demand, and leaves
/// errors in libvips' buffer.
#ifndef PIPELINE_PICTURE_LOADERS_H
#define PIPELINE_PICTURE_LOADERS_H

#include <vips/vips.h>

/// A JPEG decoder, and the faults that libjpeg finds.
typedef struct pipeline_jpeg pipeline_jpeg;

/// The faults that libjpeg found.
typedef struct {
  /// The number of warnings.
  long warnings;
  /// The first warning, without a full stop.
  char first[256];
  /// The fraction of rows, 0 to 1, that have coded data; less than 1 if the data end before the
  /// picture does, at a marker that does not belong there or at the end of the file.
  double present;
  /// Whether coded data are missing, even if only in a later pass.
  int lacks_data;
  /// Whether the file ends before the end-of-image marker.
  int lacks_end;
} pipeline_jpeg_faults;

/// Starts decoding.
///
/// libvips' own loader keeps only the first warning, none for the last rows, and does not inspect
/// the bytes after them, where a picture with damaged code has data left. Source: jpeg2vips.c of
/// libvips 8.14, libjpeg.txt.
///
/// - Parameters:
///   - header: the picture as opened by libvips' loader; the new one gets its metadata.
///   - shrink: 1, 2, 4 or 8.
///   - out: the picture.
/// - Returns: the decoder, to be passed to `pipeline_jpeg_release`; `NULL` on error.
pipeline_jpeg *pipeline_jpeg_load(VipsSource *source, VipsImage *header, int shrink,
                                  VipsImage **out);

/// Reads the remaining rows, and the file up to the end of the picture.
///
/// - Returns: the faults, valid while the decoder lives.
const pipeline_jpeg_faults *pipeline_jpeg_finish(pipeline_jpeg *jpeg);

/// Releases the decoder, which lives as long as its picture.
void pipeline_jpeg_release(pipeline_jpeg *jpeg);

/// Opens the first page of a TIFF with libtiff's own conversion to RGBA, or of integers of 24 bits, which libtiff
/// does not convert, with the upper 16 bits.
///
/// It reads what libvips' loader does not: YCbCr with subsampled chroma without JPEG compression.
/// Source: TIFFRGBAImage(3TIFF).
///
/// - Returns: 0, or -1 on error.
int pipeline_tiff_load_rgba(VipsSource *source, VipsImage **out);

/// The results of `pipeline_png_check`.
typedef enum {
  PIPELINE_PNG_WHOLE,
  /// A critical chunk has a wrong checksum.
  PIPELINE_PNG_DAMAGED,
  /// The end chunk is missing.
  PIPELINE_PNG_CUT,
  /// The bytes can't be read.
  PIPELINE_PNG_UNREADABLE,
} pipeline_png_state;

/// Verifies the checksums of a PNG's chunks.
///
/// libvips requests only rows from libpng, so the checksum after the last row is never verified.
/// Source: PNG specification, section 5.3.
pipeline_png_state pipeline_png_check(VipsSource *source);

#endif
