#include <libraw/libraw.h>

// Swift does not import struct fields that are arrays of more than 4096 values, and expands the
// others to tuples, which for LibRaw's structs takes the compiler minutes. Each function here reads
// or writes a few fields, and does nothing else.

// LibRaw 0.20 is built with OpenMP; libgomp comes with it. Declared here because omp.h belongs to
// the compiler.
void omp_set_num_threads(int);

// The number of threads is the calling thread's own setting.
static inline void pipeline_raw_use_one_thread(void) { omp_set_num_threads(1); }

// The sizes of a picture as LibRaw knows them after opening.
typedef struct pipeline_raw_sizes {
  int raw_width, raw_height;  // of the sensor, with its margins
  int width, height;          // of the developed picture
  int flip;                   // in dcraw's bits: 1 mirrors, 2 flips, 4 swaps the axes
  unsigned raw_count;
  int is_mosaic;              // whether a pixel is one colour only
  unsigned bits;
} pipeline_raw_sizes;

static inline pipeline_raw_sizes pipeline_raw_get_sizes(const libraw_data_t *raw) {
  pipeline_raw_sizes sizes = {
      raw->sizes.raw_width, raw->sizes.raw_height, raw->sizes.iwidth,     raw->sizes.iheight,
      raw->sizes.flip,      raw->idata.raw_count,  raw->idata.filters != 0, raw->color.raw_bps,
  };
  return sizes;
}

static inline const char *pipeline_raw_make(const libraw_data_t *raw) {
  return raw->idata.make;
}
static inline const char *pipeline_raw_model(const libraw_data_t *raw) {
  return raw->idata.model;
}
static inline const char *pipeline_raw_lens(const libraw_data_t *raw) {
  return raw->lens.Lens[0] ? raw->lens.Lens : raw->lens.makernotes.Lens;
}

// The camera's own setting, and EXIF's, both by LibRaw's numbers.
static inline int pipeline_raw_camera_color_space(const libraw_data_t *raw) {
  return raw->makernotes.common.ColorSpace;
}
static inline int pipeline_raw_exif_color_space(const libraw_data_t *raw) {
  return raw->color.ExifColorSpace;
}

// The thumbnail that was unpacked; NULL if it is not a JPEG.
static inline const void *pipeline_raw_jpeg(const libraw_data_t *raw, unsigned *length) {
  *length = raw->thumbnail.tlength;
  return raw->thumbnail.tformat == LIBRAW_THUMBNAIL_JPEG ? raw->thumbnail.thumb : 0;
}

// Sets the parameters of developing.
typedef struct pipeline_raw_developing {
  int half_size, quality, no_auto_bright;
  double gamma_power, gamma_slope;
} pipeline_raw_developing;

static inline void pipeline_raw_set_developing(
    libraw_data_t *raw, pipeline_raw_developing developing) {
  raw->params.half_size = developing.half_size;
  raw->params.user_qual = developing.quality;
  raw->params.no_auto_bright = developing.no_auto_bright;
  raw->params.gamm[0] = developing.gamma_power;
  raw->params.gamm[1] = developing.gamma_slope;
  raw->params.use_camera_wb = 1;
  raw->params.output_color = 1;  // sRGB
  raw->params.output_bps = 8;
  raw->params.user_flip = 0;
}

static inline void pipeline_raw_set_memory_limit(libraw_data_t *raw, unsigned megabytes) {
  raw->params.max_raw_memory_mb = megabytes;
}

// The pixels follow the struct's last field, an array of one.
static inline const void *pipeline_raw_pixels(const libraw_processed_image_t *image) {
  return image->data;
}
