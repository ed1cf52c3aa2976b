#include "picture_loaders.h"

#include <stdint.h>
#include <string.h>

#include <zlib.h>

static int take(VipsSource *source, unsigned char *bytes, gint64 count) {
  while (count > 0) {
    gint64 part = vips_source_read(source, bytes, count);
    if (part <= 0) return part < 0 ? PIPELINE_PNG_UNREADABLE : PIPELINE_PNG_CUT;
    bytes += part;
    count -= part;
  }
  return PIPELINE_PNG_WHOLE;
}

static uint32_t number(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

pipeline_png_state pipeline_png_check(VipsSource *source) {
  unsigned char head[8], content[1 << 16];
  int state = PIPELINE_PNG_WHOLE;
  if (vips_source_rewind(source)) return PIPELINE_PNG_UNREADABLE;
  state = take(source, head, sizeof head);  // the signature
  while (state == PIPELINE_PNG_WHOLE) {
    state = take(source, head, sizeof head);
    if (state != PIPELINE_PNG_WHOLE) break;
    // A chunk whose name starts with a lower-case letter is ancillary: the picture does not need
    // it.
    int counts = (head[4] & 0x20) == 0;
    uint32_t left = number(head);
    uLong sum = crc32(0, head + 4, 4);
    while (left > 0 && state == PIPELINE_PNG_WHOLE) {
      uint32_t part = MIN(left, sizeof content);
      state = take(source, content, part);
      if (counts) sum = crc32(sum, content, part);
      left -= part;
    }
    if (state == PIPELINE_PNG_WHOLE) state = take(source, content, 4);
    if (state != PIPELINE_PNG_WHOLE) break;
    if (counts && number(content) != sum) state = PIPELINE_PNG_DAMAGED;
    if (memcmp(head + 4, "IEND", 4) == 0) break;
  }
  return state;
}
