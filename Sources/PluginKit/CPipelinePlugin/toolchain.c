#include "pipeline_plugin.h"

// The Swift toolchain's own Clang reports its exact revision, which identifies the Swift runtime as
// well as anything can.
const char *const pipeline_plugin_toolchain = "swift with " __VERSION__;
