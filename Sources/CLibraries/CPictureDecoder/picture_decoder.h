// picture_decoder.h: the C ABI between the bundled plugins and the decoders that are shared
// libraries of their own, version 1.
//
// A decoder is a shared library named `libpicture-decoder-NAME.so`, next to the plugins. It exports
// one function, `picture_decoder_v1`. The plugins load it with RTLD_NOW and RTLD_LOCAL when the first
// file of its kind comes, in the sandboxed worker, and never unload it. Both sides are built
// together, so this is no promise to others.
//
// Texts are JSON documents in UTF-8, without a terminating NUL.

#ifndef PICTURE_DECODER_H
#define PICTURE_DECODER_H

#include <stdint.h>

#define PICTURE_DECODER_ABI 1

// A run of bytes; `bytes` may be NULL where `length` is 0.
typedef struct picture_decoder_bytes {
  const void *bytes;
  uint64_t length;
} picture_decoder_bytes;

// What a decoder answers. Belongs to the caller, who passes it to `release` exactly once.
typedef struct picture_decoder_answer {
  picture_decoder_bytes text;     // a `DecoderAnswer`
  picture_decoder_bytes picture;  // an encoded file, or rows of pixels without gaps; frames one below the other
  picture_decoder_bytes profile;  // the ICC profile of pixels; empty for sRGB
} picture_decoder_answer;

// Returns non-zero once the job is cancelled. Cheap: call it often.
typedef struct picture_decoder_cancellation {
  int32_t (*cancelled)(void *context);
  void *context;
} picture_decoder_cancellation;

// Every function may be called by several threads at once.
typedef struct picture_decoder {
  uint32_t abi;
  uint32_t struct_size;
  // Finds facts about a file; `request` is a `DecoderRequest`.
  picture_decoder_answer (*facts)(picture_decoder_bytes request, picture_decoder_cancellation);
  // Decodes a picture, or frames of a film if `request`, a `DecoderRequest`, says how many.
  picture_decoder_answer (*decode)(picture_decoder_bytes request, picture_decoder_cancellation);
  void (*release)(picture_decoder_answer answer);
} picture_decoder;

// The same as Dl_info of dladdr(3), which glibc declares only for _GNU_SOURCE.
typedef struct picture_decoder_place {
  const char *file;
  void *base;
  const char *symbol;
  void *address;
} picture_decoder_place;
int picture_decoder_find(const void *address, picture_decoder_place *place) __asm__("dladdr");

typedef const picture_decoder *(*picture_decoder_entry)(void);
#define PICTURE_DECODER_ENTRY "picture_decoder_v1"

#endif
