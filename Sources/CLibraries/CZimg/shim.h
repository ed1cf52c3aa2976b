#include <zimg.h>

// Swift can't use a macro that calls another, nor an array of structures without a name.
// Each function here stands for one, and does nothing else.

static inline unsigned pipeline_zimg_version(void) { return ZIMG_API_VERSION; }

// A picture of one plane that is in memory as a whole, from the first row to the last.
static inline zimg_error_code_e pipeline_zimg_process(const zimg_filter_graph *graph,
                                                      const void *source, ptrdiff_t source_stride,
                                                      void *target, ptrdiff_t target_stride,
                                                      void *scratch) {
  zimg_image_buffer_const from = {
      ZIMG_API_VERSION, {{source, source_stride, ZIMG_BUFFER_MAX}}};
  zimg_image_buffer to = {ZIMG_API_VERSION, {{target, target_stride, ZIMG_BUFFER_MAX}}};
  return zimg_filter_graph_process(graph, &from, &to, scratch, NULL, NULL, NULL, NULL);
}
