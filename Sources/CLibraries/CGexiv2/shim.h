#include <gexiv2/gexiv2.h>

// Swift can't call a variadic C function or expand a macro. Each function here
// gives one such call a fixed form, and does nothing else.

// g_object_unref takes a gpointer, which Swift imports as an untyped optional.
static inline void pipeline_gexiv2_release(GExiv2Metadata *metadata) { g_object_unref(metadata); }

// gexiv2 does not tell which exiv2 it works with. This is `const char *Exiv2::version()`, whose
// mangled name (Itanium C++ ABI) is the same in exiv2 0.27 and 0.28.
const char *pipeline_exiv2_version(void) __asm__("_ZN5Exiv27versionEv");
