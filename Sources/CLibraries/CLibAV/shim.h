#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

// Swift can't expand macros that compute. Each function here gives one such macro a fixed form, and
// does nothing else.

// AVERROR turns a number of errno into libav's.
static inline int pipeline_av_error(int number) { return AVERROR(number); }

// These are four characters, negated.
static inline int pipeline_av_error_eof(void) { return AVERROR_EOF; }
static inline int pipeline_av_error_exit(void) { return AVERROR_EXIT; }

// A cast of a constant that has no sign.
static inline int64_t pipeline_av_no_timestamp(void) { return AV_NOPTS_VALUE; }
