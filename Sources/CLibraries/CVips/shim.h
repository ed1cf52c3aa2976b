#include <vips/vips.h>

// Swift can't call variadic C functions or expand macros. Each function here wraps one such call
// with a fixed list of arguments, and does nothing else.

// VIPS_INIT is a macro that also checks the headers' version.
static inline int pipeline_vips_init(const char *name) { return VIPS_INIT(name); }

// vips_call is variadic. `loader` is the nickname of a loader that reads from a source.
static inline int pipeline_vips_load(const char *loader, VipsSource *source, VipsImage **out,
                                     VipsAccess access, VipsFailOn fail_on) {
  return vips_call(loader, source, out, "access", access, "fail_on", fail_on, NULL);
}

// vips_call is variadic. `loader` is the nickname of a loader that reads a file by its path.
static inline int pipeline_vips_load_file(const char *loader, const char *path, VipsImage **out,
                                          VipsAccess access, VipsFailOn fail_on) {
  return vips_call(loader, path, out, "access", access, "fail_on", fail_on, NULL);
}

// vips_call is variadic; `loader` is one of those of drawings, which are drawn `scale` times as large.
static inline int pipeline_vips_load_drawing(const char *loader, VipsSource *source,
                                             VipsImage **out, double scale, VipsFailOn fail_on) {
  return vips_call(loader, source, out, "scale", scale, "fail_on", fail_on, NULL);
}

// vips_jp2kload_source is variadic; its page is how often the picture is halved.
static inline int pipeline_vips_load_jp2k(VipsSource *source, VipsImage **out, int halvings,
                                          VipsAccess access, VipsFailOn fail_on) {
  return vips_jp2kload_source(source, out, "page", halvings, "access", access, "fail_on", fail_on,
                              NULL);
}

// vips_call is variadic; this call loads `count` frames, one below the other.
static inline int pipeline_vips_load_frames(const char *loader, VipsSource *source,
                                            VipsImage **out, int count, VipsFailOn fail_on) {
  return vips_call(loader, source, out, "n", count, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                   fail_on, NULL);
}

// vips_heifload_source is variadic; this call loads the first thumbnail in the file, if there is one.
static inline int pipeline_vips_load_heif_thumbnail(VipsSource *source, VipsImage **out,
                                                    VipsFailOn fail_on) {
  return vips_heifload_source(source, out, "thumbnail", TRUE, "fail_on", fail_on, NULL);
}

// vips_extract_band is variadic.
static inline int pipeline_vips_extract_bands(VipsImage *in, VipsImage **out, int first,
                                              int count) {
  return vips_extract_band(in, out, first, "n", count, NULL);
}

// vips_bandjoin2 is variadic.
static inline int pipeline_vips_join_bands(VipsImage *left, VipsImage *right, VipsImage **out) {
  return vips_bandjoin2(left, right, out, NULL);
}

// vips_linear1 is variadic; the result is floating-point.
static inline int pipeline_vips_linear(VipsImage *in, VipsImage **out, double factor,
                                       double offset) {
  return vips_linear1(in, out, factor, offset, NULL);
}

// vips_maplut is variadic; `table` has one row of 8-bit colours.
static inline int pipeline_vips_look_up(VipsImage *in, VipsImage **out, VipsImage *table) {
  return vips_maplut(in, out, table, NULL);
}

// vips_scale is variadic; it maps the least value to 0 and the greatest to 255, evenly or by logarithms.
static inline int pipeline_vips_stretch(VipsImage *in, VipsImage **out, int by_logarithm) {
  return vips_scale(in, out, "log", (gboolean)by_logarithm, NULL);
}

// vips_webpload_source is variadic; only WebP has a scale.
static inline int pipeline_vips_load_webp(VipsSource *source, VipsImage **out, double scale,
                                          VipsAccess access, VipsFailOn fail_on) {
  return vips_webpload_source(source, out, "scale", scale, "access", access, "fail_on", fail_on,
                              NULL);
}

// vips_resize is variadic.
static inline int pipeline_vips_resize(VipsImage *in, VipsImage **out, double horizontal,
                                       double vertical, VipsKernel kernel, double gap) {
  return vips_resize(in, out, horizontal, "vscale", vertical, "kernel", kernel, "gap", gap, NULL);
}

// vips_shrink is variadic.
static inline int pipeline_vips_shrink(VipsImage *in, VipsImage **out, double horizontal,
                                       double vertical) {
  return vips_shrink(in, out, horizontal, vertical, NULL);
}

// VIPS_REGION_ADDR is a macro.
static inline const VipsPel *pipeline_vips_region_row(VipsRegion *region, int left, int top) {
  return VIPS_REGION_ADDR(region, left, top);
}

// vips_flatten is variadic.
static inline int pipeline_vips_flatten(VipsImage *in, VipsImage **out, double paper,
                                        double white) {
  VipsArrayDouble *background = vips_array_double_new(&paper, 1);
  int result = vips_flatten(in, out, "background", background, "max_alpha", white, NULL);
  vips_area_unref(VIPS_AREA(background));
  return result;
}

// vips_premultiply and vips_unpremultiply are variadic.
static inline int pipeline_vips_premultiply(VipsImage *in, VipsImage **out, double white) {
  return vips_premultiply(in, out, "max_alpha", white, NULL);
}
static inline int pipeline_vips_unpremultiply(VipsImage *in, VipsImage **out, double white) {
  return vips_unpremultiply(in, out, "max_alpha", white, NULL);
}

// vips_moreeq_const1 is variadic; the result is 255 or 0.
static inline int pipeline_vips_at_least(VipsImage *in, VipsImage **out, double value) {
  return vips_moreeq_const1(in, out, value, NULL);
}

// vips_cast is variadic.
static inline int pipeline_vips_cast(VipsImage *in, VipsImage **out, VipsBandFormat format) {
  return vips_cast(in, out, format, NULL);
}

// vips_copy is variadic; it makes an image whose metadata may be changed.
static inline int pipeline_vips_copy(VipsImage *in, VipsImage **out) {
  return vips_copy(in, out, NULL);
}

// vips_copy is variadic; this call changes the interpretation of the bands.
static inline int pipeline_vips_reinterpret(VipsImage *in, VipsImage **out,
                                            VipsInterpretation interpretation) {
  return vips_copy(in, out, "interpretation", interpretation, NULL);
}

// vips_colourspace is variadic.
static inline int pipeline_vips_colourspace(VipsImage *in, VipsImage **out,
                                            VipsInterpretation space) {
  return vips_colourspace(in, out, space, NULL);
}

// vips_icc_transform is variadic. It uses the embedded profile if that fits, otherwise `input`.
static inline int pipeline_vips_icc_transform(VipsImage *in, VipsImage **out, const char *output,
                                              const char *input, VipsIntent intent, int depth) {
  return vips_icc_transform(in, out, output, "embedded", TRUE, "input_profile", input, "intent",
                            intent, "black_point_compensation", TRUE, "depth", depth, NULL);
}

// vips_rot and vips_flip are variadic.
static inline int pipeline_vips_rotate(VipsImage *in, VipsImage **out, VipsAngle angle) {
  return vips_rot(in, out, angle, NULL);
}
static inline int pipeline_vips_flip(VipsImage *in, VipsImage **out, VipsDirection direction) {
  return vips_flip(in, out, direction, NULL);
}

// vips_embed is variadic. What is beyond the picture is black, with a value of alpha if it has four bands; what
// is beyond the new one is cut off.
static inline int pipeline_vips_embed(VipsImage *in, VipsImage **out, int left, int top, int width,
                                      int height, double alpha) {
  const double values[4] = {0, 0, 0, alpha};
  VipsArrayDouble *background = vips_array_double_new(values, in->Bands == 4 ? 4 : 1);
  int failed = vips_embed(in, out, left, top, width, height, "extend", VIPS_EXTEND_BACKGROUND,
                          "background", background, NULL);
  vips_area_unref(VIPS_AREA(background));
  return failed;
}

// vips_extract_area is variadic.
static inline int pipeline_vips_extract(VipsImage *in, VipsImage **out, int left, int top,
                                        int width, int height) {
  return vips_extract_area(in, out, left, top, width, height, NULL);
}

// vips_image_write_to_buffer is variadic. `suffix` is, for example, ".jpg[Q=80]".
static inline int pipeline_vips_encode(VipsImage *in, const char *suffix, void **bytes,
                                       size_t *length) {
  return vips_image_write_to_buffer(in, suffix, bytes, length, NULL);
}

// vips_profile_load is variadic.
static inline int pipeline_vips_profile_load(const char *name, VipsBlob **profile) {
  return vips_profile_load(name, profile, NULL);
}

// G_CALLBACK and g_signal_connect are macros.
static inline unsigned long pipeline_vips_on_eval(VipsImage *image,
                                                  void (*callback)(VipsImage *, VipsProgress *,
                                                                   void *),
                                                  void *context) {
  return g_signal_connect_data(image, "eval", G_CALLBACK(callback), context, NULL,
                               (GConnectFlags)0);
}

// g_object_unref takes a gpointer, which Swift imports as an untyped optional.
static inline void pipeline_vips_release(void *object) { g_object_unref(object); }
