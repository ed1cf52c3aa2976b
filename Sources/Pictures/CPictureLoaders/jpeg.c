#include "picture_loaders.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

// The most scans of a progressive file: a small one with thousands of them keeps a decoder busy for
// minutes. Source: libjpeg-turbo, "two issues with the JPEG standard".
#define MOST_SCANS 500

struct pipeline_jpeg {
  struct jpeg_decompress_struct decoder;
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr input;
  struct jpeg_progress_mgr progress;
  jmp_buf failed;
  VipsSource *source;
  // djpeg's size: far from the end of a buffer, libjpeg-turbo decodes faster and misses codes that
  // it would otherwise warn about.
  JOCTET buffer[4096];
  int is_inverted;
  int is_over;
  pipeline_jpeg_faults faults;
};

static int is_restart(int marker) { return marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7; }

static void fail(j_common_ptr decoder) {
  pipeline_jpeg *jpeg = decoder->client_data;
  char text[JMSG_LENGTH_MAX];
  decoder->err->format_message(decoder, text);
  // Errors after the end of the picture don't count.
  if (!jpeg->is_over) vips_error("VipsJpeg", "%s", text);
  longjmp(jpeg->failed, 1);
}

static void note(pipeline_jpeg *jpeg) {
  j_common_ptr decoder = (j_common_ptr)&jpeg->decoder;
  if (jpeg->faults.warnings++ > 0) return;
  char text[JMSG_LENGTH_MAX];
  decoder->err->format_message(decoder, text);
  g_strlcpy(jpeg->faults.first, text, sizeof jpeg->faults.first);
}

// Called for each message; negative levels are warnings about damaged data.
static void hear(j_common_ptr common, int level) {
  if (level >= 0) return;
  pipeline_jpeg *jpeg = common->client_data;
  j_decompress_ptr decoder = &jpeg->decoder;
  note(jpeg);
  int marker = decoder->unread_marker;
  int code = common->err->msg_code;
  if (code != JWRN_HIT_MARKER && code != JWRN_MUST_RESYNC) return;
  // A restart marker ends only its segment, if restarts are used.
  if (marker == 0 || (is_restart(marker) && decoder->restart_interval > 0)) return;
  jpeg->faults.lacks_data = 1;
  // Missing data in later passes cost only detail.
  if (decoder->Ss != 0 || decoder->Ah != 0 || decoder->total_iMCU_rows == 0) return;
  // The incomplete row is partly present.
  double present = (double)(decoder->input_iMCU_row + 1) / decoder->total_iMCU_rows;
  if (present < jpeg->faults.present) jpeg->faults.present = present;
}

static void say_nothing(j_common_ptr decoder) { (void)decoder; }

static void watch(j_common_ptr decoder) {
  if (decoder->is_decompressor && ((j_decompress_ptr)decoder)->input_scan_number > MOST_SCANS)
    ERREXIT(decoder, JERR_BAD_PROGRESSION);
}

static void begin_input(j_decompress_ptr decoder) { (void)decoder; }

static boolean fill(j_decompress_ptr decoder) {
  static const JOCTET end[2] = {0xFF, JPEG_EOI};
  pipeline_jpeg *jpeg = decoder->client_data;
  gint64 count = vips_source_read(jpeg->source, jpeg->buffer, sizeof jpeg->buffer);
  if (count < 0) ERREXIT(decoder, JERR_FILE_READ);
  if (count > 0) {
    jpeg->input.next_input_byte = jpeg->buffer;
    jpeg->input.bytes_in_buffer = count;
    return TRUE;
  }
  // The way that libjpeg documents: a warning, and a synthetic end-of-image marker.
  jpeg->faults.lacks_end = 1;
  WARNMS(decoder, JWRN_JPEG_EOF);
  jpeg->input.next_input_byte = end;
  jpeg->input.bytes_in_buffer = sizeof end;
  return TRUE;
}

static void skip(j_decompress_ptr decoder, long count) {
  pipeline_jpeg *jpeg = decoder->client_data;
  while (count > 0) {
    if (jpeg->input.bytes_in_buffer == 0) fill(decoder);
    // The synthetic marker has no bytes to skip.
    if (jpeg->faults.lacks_end) return;
    size_t part = MIN((size_t)count, jpeg->input.bytes_in_buffer);
    jpeg->input.next_input_byte += part;
    jpeg->input.bytes_in_buffer -= part;
    count -= part;
  }
}

static void end_input(j_decompress_ptr decoder) { (void)decoder; }

static void destroy(gpointer jpeg) {
  jpeg_destroy_decompress(&((pipeline_jpeg *)jpeg)->decoder);
  g_object_unref(((pipeline_jpeg *)jpeg)->source);
}

void pipeline_jpeg_release(pipeline_jpeg *jpeg) { g_atomic_rc_box_release_full(jpeg, destroy); }

static void release(gpointer jpeg) { pipeline_jpeg_release(jpeg); }

static int generate(VipsRegion *region, void *sequence, void *context, void *other,
                    gboolean *stop) {
  (void)sequence, (void)other, (void)stop;
  pipeline_jpeg *jpeg = context;
  j_decompress_ptr decoder = &jpeg->decoder;
  VipsRect *part = &region->valid;
  if (jpeg->is_over || (JDIMENSION)part->top != decoder->output_scanline) {
    vips_error("VipsJpeg", "row %d is out of order", part->top);
    return -1;
  }
  if (setjmp(jpeg->failed)) {
    jpeg->is_over = 1;
    return -1;
  }
  size_t count = VIPS_REGION_SIZEOF_LINE(region);
  for (int row = 0; row < part->height; row++) {
    JSAMPROW values = VIPS_REGION_ADDR(region, part->left, part->top + row);
    jpeg_read_scanlines(decoder, &values, 1);
    // Adobe's CMYK, which is nearly all there is, uses 255 for no ink.
    if (jpeg->is_inverted)
      for (size_t index = 0; index < count; index++) values[index] = 255 - values[index];
  }
  return 0;
}

static pipeline_jpeg *make(VipsSource *source) {
  pipeline_jpeg *jpeg = g_atomic_rc_box_new0(pipeline_jpeg);
  jpeg->source = g_object_ref(source);
  jpeg->faults.present = 1;
  jpeg->decoder.err = jpeg_std_error(&jpeg->errors);
  jpeg->decoder.client_data = jpeg;
  jpeg->errors.error_exit = fail;
  jpeg->errors.emit_message = hear;
  jpeg->errors.output_message = say_nothing;
  jpeg->progress.progress_monitor = watch;
  jpeg->input.init_source = begin_input;
  jpeg->input.fill_input_buffer = fill;
  jpeg->input.skip_input_data = skip;
  jpeg->input.resync_to_restart = jpeg_resync_to_restart;
  jpeg->input.term_source = end_input;
  return jpeg;
}

static void start(pipeline_jpeg *jpeg, int shrink) {
  j_decompress_ptr decoder = &jpeg->decoder;
  jpeg_create_decompress(decoder);
  decoder->src = &jpeg->input;
  decoder->progress = &jpeg->progress;
  jpeg_read_header(decoder, TRUE);
  decoder->scale_num = 1;
  decoder->scale_denom = shrink;
  jpeg->is_inverted = decoder->out_color_space == JCS_CMYK;
  jpeg_start_decompress(decoder);
}

// Makes the picture with libjpeg's rows, whose dimensions are rounded up.
static int make_rows(pipeline_jpeg *jpeg, VipsImage *header, VipsImage *rows) {
  if (vips_image_pipelinev(rows, VIPS_DEMAND_STYLE_FATSTRIP, header, NULL)) return -1;
  rows->Xsize = jpeg->decoder.output_width;
  rows->Ysize = jpeg->decoder.output_height;
  if (rows->Bands != jpeg->decoder.output_components) {
    vips_error("VipsJpeg", "the header changed while it was read");
    return -1;
  }
  return vips_image_generate(rows, NULL, generate, NULL, jpeg, NULL);
}

pipeline_jpeg *pipeline_jpeg_load(VipsSource *source, VipsImage *header, int shrink,
                                  VipsImage **out) {
  pipeline_jpeg *jpeg = make(source);
  if (setjmp(jpeg->failed) || vips_source_rewind(source)) {
    pipeline_jpeg_release(jpeg);
    return NULL;
  }
  start(jpeg, shrink);
  VipsImage *rows = vips_image_new();
  g_object_set_data_full(G_OBJECT(rows), "pipeline-jpeg", g_atomic_rc_box_acquire(jpeg), release);
  VipsImage *ordered = NULL;
  // Only whole pixels, as in libvips; cropping last makes libvips request whole rows.
  int result = make_rows(jpeg, header, rows) ||
               vips_sequential(rows, &ordered, "tile_height", 8, NULL) ||
               vips_extract_area(ordered, out, 0, 0, MAX(1, jpeg->decoder.image_width / shrink),
                                 MAX(1, jpeg->decoder.image_height / shrink), NULL);
  VIPS_UNREF(ordered);
  g_object_unref(rows);
  if (result == 0) return jpeg;
  pipeline_jpeg_release(jpeg);
  return NULL;
}

const pipeline_jpeg_faults *pipeline_jpeg_finish(pipeline_jpeg *jpeg) {
  j_decompress_ptr decoder = &jpeg->decoder;
  if (jpeg->is_over) return &jpeg->faults;
  jpeg->is_over = 1;
  char *volatile row = NULL;
  if (setjmp(jpeg->failed) == 0) {
    row = g_malloc((gsize)decoder->output_width * decoder->output_components);
    while (decoder->output_scanline < decoder->output_height) {
      JSAMPROW values = (JSAMPROW)row;
      jpeg_read_scanlines(decoder, &values, 1);
    }
    jpeg_finish_decompress(decoder);
  } else {
    note(jpeg);
  }
  g_free(row);
  return &jpeg->faults;
}
