#include "pipeline_plugin.h"

// The compiler that the Swift toolchain brings along names its exact revision,
// which is as good a name for the Swift runtime as there is.
const char *const pipeline_plugin_toolchain = "swift with " __VERSION__;
