#include "picture_loaders.h"

#include <tiffio.h>

// The most pixels of a tile or strip that is larger than the picture.
#define MOST_BEYOND ((guint64)1 << 24)

typedef struct {
  TIFF *tiff;
  VipsSource *source;
  uint32_t width, height;
  // Rows decoded together, and their width in pixels: a strip, or a tile of a row of tiles.
  uint32_t rows, columns;
  uint32_t *raster;
  int count;
  // Of integers of 24 bits, which libtiff does not convert: a strip of each plane, or one of all samples.
  uint8_t *samples;
  uint16_t bands, planes;
  int is_inverted;
} Pages;

static tmsize_t read_bytes(thandle_t source, void *bytes, tmsize_t count) {
  tmsize_t done = 0;
  while (done < count) {
    gint64 part = vips_source_read((VipsSource *)source, (char *)bytes + done, count - done);
    if (part < 0) return -1;
    if (part == 0) break;
    done += part;
  }
  return done;
}

static tmsize_t write_bytes(thandle_t source, void *bytes, tmsize_t count) {
  (void)source, (void)bytes, (void)count;
  return -1;
}

static toff_t seek(thandle_t source, toff_t offset, int whence) {
  return vips_source_seek((VipsSource *)source, offset, whence);
}

static int close_nothing(thandle_t source) {
  (void)source;
  return 0;
}

static toff_t size(thandle_t source) {
  gint64 length = vips_source_length((VipsSource *)source);
  return length < 0 ? 0 : length;
}

static void destroy(gpointer context) {
  Pages *pages = context;
  if (pages->tiff) TIFFClose(pages->tiff);
  g_free(pages->raster);
  g_free(pages->samples);
  g_object_unref(pages->source);
  g_free(pages);
}

// Raster rows go from bottom to top. Source: TIFFReadRGBAStrip(3TIFF).
static void copy(Pages *pages, VipsRegion *region, uint32_t left, uint32_t rows) {
  VipsRect *part = &region->valid;
  uint32_t columns = MIN(pages->columns, pages->width - left);
  for (int row = 0; row < part->height; row++) {
    const uint32_t *values = pages->raster + (size_t)(rows - 1 - row) * pages->columns;
    VipsPel *pixel = VIPS_REGION_ADDR(region, left, part->top + row);
    for (uint32_t column = 0; column < columns; column++) {
      *pixel++ = TIFFGetR(values[column]);
      *pixel++ = TIFFGetG(values[column]);
      *pixel++ = TIFFGetB(values[column]);
    }
  }
}

static int generate(VipsRegion *region, void *sequence, void *context, void *other,
                    gboolean *stop) {
  (void)sequence, (void)other, (void)stop;
  Pages *pages = context;
  uint32_t top = region->valid.top;
  uint32_t rows = MIN(pages->rows, pages->height - top);
  if (top % pages->rows != 0 || (uint32_t)region->valid.height > rows) {
    vips_error("tiff2vips", "row %u is out of order", top);
    return -1;
  }
  if (!TIFFIsTiled(pages->tiff)) {
    if (!TIFFReadRGBAStripExt(pages->tiff, top, pages->raster, 1)) return -1;
    copy(pages, region, 0, rows);
    return 0;
  }
  for (uint32_t left = 0; left < pages->width; left += pages->columns) {
    if (!TIFFReadRGBATileExt(pages->tiff, left, top, pages->raster, 1)) return -1;
    copy(pages, region, left, pages->rows);
  }
  return 0;
}

static size_t strip_bytes(const Pages *pages) {
  return (size_t)pages->width * pages->rows * (pages->bands / pages->planes) * 3;
}

// libtiff gives integers of 24 bits in the machine's order of bytes; the upper 16 bits are shown.
static int generate_deep(VipsRegion *region, void *sequence, void *context, void *other,
                         gboolean *stop) {
  (void)sequence, (void)other, (void)stop;
  Pages *pages = context;
  uint32_t top = region->valid.top;
  uint32_t rows = MIN(pages->rows, pages->height - top);
  if (top % pages->rows != 0 || (uint32_t)region->valid.height > rows) {
    vips_error("tiff2vips", "row %u is out of order", top);
    return -1;
  }
  int together = pages->bands / pages->planes;
  size_t row_bytes = (size_t)pages->width * together * 3;
  for (uint16_t plane = 0; plane < pages->planes; plane++) {
    uint32_t strip = TIFFComputeStrip(pages->tiff, top, plane);
    tmsize_t wanted = row_bytes * rows;
    if (TIFFReadEncodedStrip(pages->tiff, strip, pages->samples, wanted) != wanted) return -1;
    for (int row = 0; row < region->valid.height; row++) {
      const uint8_t *from = pages->samples + row * row_bytes;
      uint16_t *to = (uint16_t *)VIPS_REGION_ADDR(region, 0, (int)top + row) + plane;
      for (uint32_t column = 0; column < pages->width; column++) {
        for (int band = 0; band < together; band++, from += 3) {
          uint16_t value = G_BYTE_ORDER == G_LITTLE_ENDIAN ? from[2] << 8 | from[1]
                                                           : from[0] << 8 | from[1];
          to[band] = pages->is_inverted && plane + band == 0 ? 65535 - value : value;
        }
        to += pages->bands;
      }
    }
  }
  return 0;
}

// Whether the samples are integers of 24 bits in strips; 0 also if they are in grey or RGB that is not known.
static int open_deep(Pages *pages) {
  TIFF *tiff = pages->tiff;
  uint16_t bits = 1, format = 1, bands = 1, planar = 1, photometric = 0;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &bands);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
  int colors = photometric == PHOTOMETRIC_RGB ? 3 : 1;
  if (bits != 24 || format != SAMPLEFORMAT_UINT || TIFFIsTiled(tiff) ||
      photometric > PHOTOMETRIC_RGB || bands < colors || bands > colors + 1)
    return 0;
  pages->bands = bands;
  pages->planes = planar == PLANARCONFIG_SEPARATE ? bands : 1;
  pages->is_inverted = photometric == PHOTOMETRIC_MINISWHITE;
  return 1;
}

static int open_page(Pages *pages) {
  TIFF *tiff = pages->tiff;
  char reason[1024];
  // Counting visits all pages and returns to the first.
  pages->count = TIFFNumberOfDirectories(tiff);
  if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &pages->width) ||
      !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &pages->height) || pages->width == 0 ||
      pages->height == 0 || pages->width > VIPS_MAX_COORD || pages->height > VIPS_MAX_COORD) {
    vips_error("tiff2vips", "the page has no size");
    return -1;
  }
  int is_deep = open_deep(pages);
  if (!is_deep && !TIFFRGBAImageOK(tiff, reason)) {
    vips_error("tiff2vips", "%s", reason);
    return -1;
  }
  pages->columns = pages->width;
  pages->rows = pages->height;
  if (TIFFIsTiled(tiff)) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &pages->columns);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &pages->rows);
  } else {
    uint32_t rows = 0;
    if (TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows) && rows > 0)
      pages->rows = MIN(rows, pages->height);
  }
  if (pages->columns == 0 || pages->rows == 0 || pages->rows > VIPS_MAX_COORD ||
      pages->columns > VIPS_MAX_COORD) {
    vips_error("tiff2vips", "its tiles have no size");
    return -1;
  }
  guint64 tile = (guint64)pages->columns * pages->rows;
  // A tile may be larger than a small picture, but must not take the memory of a large one.
  if (tile > MAX((guint64)pages->width * pages->height, MOST_BEYOND)) {
    vips_error("tiff2vips", "its tiles are far larger than the picture");
    return -1;
  }
  if (is_deep) {
    if ((pages->samples = g_try_malloc(strip_bytes(pages)))) return 0;
    vips_error("tiff2vips", "out of memory for a strip of %" G_GUINT64_FORMAT " pixels", tile);
    return -1;
  }
  // The caller rotates; libtiff would rotate each strip separately.
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  if (!(pages->raster = g_try_malloc_n(tile, sizeof *pages->raster))) {
    vips_error("tiff2vips", "out of memory for a strip of %" G_GUINT64_FORMAT " pixels", tile);
    return -1;
  }
  return 0;
}

static void describe(Pages *pages, VipsImage *image) {
  uint32_t length = 0;
  void *profile = NULL;
  if (pages->samples) {
    vips_image_init_fields(image, pages->width, pages->height, pages->bands, VIPS_FORMAT_USHORT,
                           VIPS_CODING_NONE,
                           pages->bands < 3 ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16,
                           1, 1);
  } else {
    vips_image_init_fields(image, pages->width, pages->height, 3, VIPS_FORMAT_UCHAR,
                           VIPS_CODING_NONE, VIPS_INTERPRETATION_sRGB, 1, 1);
  }
  if (TIFFGetField(pages->tiff, TIFFTAG_ICCPROFILE, &length, &profile) && length > 0)
    vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, length);
  vips_image_set_int(image, VIPS_META_N_PAGES, MAX(1, pages->count));
}

int pipeline_tiff_load_rgba(VipsSource *source, VipsImage **out) {
  if (vips_source_rewind(source)) return -1;
  Pages *pages = g_new0(Pages, 1);
  pages->source = g_object_ref(source);
  VipsImage *image = vips_image_new();
  g_object_set_data_full(G_OBJECT(image), "pipeline-tiff", pages, destroy);
  // No memory mapping, as in libvips.
  pages->tiff = TIFFClientOpen("source input", "rm", (thandle_t)source, read_bytes, write_bytes,
                               seek, close_nothing, size, NULL, NULL);
  int result = -1;
  if (pages->tiff && open_page(pages) == 0) {
    describe(pages, image);
    result = vips_image_pipelinev(image, VIPS_DEMAND_STYLE_FATSTRIP, NULL) ||
             vips_image_generate(image, NULL, pages->samples ? generate_deep : generate, NULL, pages,
                                 NULL) ||
             vips_sequential(image, out, "tile_height", pages->rows, NULL);
  }
  g_object_unref(image);
  return result ? -1 : 0;
}
