// First, because MagickCore asks glibc for all of its declarations, in which fd_set differs from the
// one that Swift's own module has.
#include <sys/types.h>

// SwiftPM passes pkg-config's folders but none of its macros: 16 bits a channel, as integers.
#ifndef MAGICKCORE_QUANTUM_DEPTH
#define MAGICKCORE_QUANTUM_DEPTH 16
#endif
#ifndef MAGICKCORE_HDRI_ENABLE
#define MAGICKCORE_HDRI_ENABLE 0
#endif
#include <magick/MagickCore.h>
#include <string.h>

// MagickCore's structs hold texts of 4096 bytes, which Swift expands to tuples of as many elements.
// Each function here reads or writes a few fields, or gives a call a fixed form; none does more.

// Chooses the coder and the first picture, so that neither content nor a name chooses.
static inline void pipeline_magick_choose(ImageInfo *info, const char *coder) {
  (void)CopyMagickString(info->magick, coder, MaxTextExtent);
  info->filename[0] = '\0';
  info->scene = 0;
  info->number_scenes = 1;
  info->verbose = MagickFalse;
}

static inline void pipeline_magick_watch(
    ImageInfo *info, MagickProgressMonitor monitor, void *context) {
  (void)SetImageInfoProgressMonitor(info, monitor, context);
}

// A picture keeps the monitor that it was read with.
static inline void pipeline_magick_unwatch(Image *image) {
  (void)SetImageProgressMonitor(image, 0, 0);
}

// A picture's description.
typedef struct pipeline_magick_description {
  size_t width, height, depth;
  int has_alpha, colorspace;
} pipeline_magick_description;

static inline pipeline_magick_description pipeline_magick_describe(const Image *image) {
  pipeline_magick_description description = {
      image->columns, image->rows, image->depth, image->matte != MagickFalse,
      (int)image->colorspace,
  };
  return description;
}

// The worst that happened; 0 if nothing did.
static inline int pipeline_magick_severity(const ExceptionInfo *exception) {
  return (int)exception->severity;
}

static inline const char *pipeline_magick_reason(const ExceptionInfo *exception) {
  return exception->reason;
}

// Bytes of a profile; NULL if there is none.
static inline const void *pipeline_magick_profile(
    const Image *image, const char *name, size_t *length) {
  const StringInfo *profile = GetImageProfile(image, name);
  *length = profile ? GetStringInfoLength(profile) : 0;
  return profile ? GetStringInfoDatum(profile) : 0;
}

static inline int pipeline_magick_export(
    const Image *image, size_t width, size_t height, const char *map, void *pixels,
    ExceptionInfo *exception) {
  return ExportImagePixels(image, 0, 0, width, height, map, CharPixel, pixels, exception)
         != MagickFalse;
}
