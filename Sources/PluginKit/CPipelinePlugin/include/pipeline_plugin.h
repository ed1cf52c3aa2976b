// pipeline_plugin.h: the C ABI of a pipeline plugin, version 1.
//
// A plugin is a shared library named `libpipeline-ID.so` that exports one function,
// `pipeline_plugin_v1`. The program loads it with RTLD_NOW and RTLD_LOCAL and never unloads it.
// Every message is one JSON document in UTF-8; pictures are exchanged as files. `docs/plugins.md`
// describes the messages.
//
// Rules for both tables
//   - `abi` is PIPELINE_PLUGIN_ABI, `struct_size` the table's sizeof as its writer knew it. Fields
//     are only ever added at the end, so a reader compares `struct_size` before it accesses a field
//     that was added later.
//   - Strings are pointer and length, without a terminating NUL.
//   - A string passed to a function is borrowed until that function returns.
//   - A string returned by the plugin belongs to the caller, who passes it to the plugin's
//     `release` exactly once.
//
// Threads: `create`, `manifest` and `destroy` are called by one thread at a time. An instance is
// used by one thread at a time, though not always the same one; different instances run
// concurrently on different threads.

#ifndef PIPELINE_PLUGIN_H
#define PIPELINE_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPELINE_PLUGIN_ABI 1

// A run of bytes: UTF-8 JSON unless a comment says otherwise.
typedef struct pipeline_string {
  const char *bytes;  // may be NULL where length is 0
  uint64_t length;    // in bytes
} pipeline_string;

typedef enum pipeline_log_level {
  PIPELINE_LOG_DEBUG = 0,
  PIPELINE_LOG_INFO = 1,
  PIPELINE_LOG_WARNING = 2,
  PIPELINE_LOG_ERROR = 3
} pipeline_log_level;

// The functions that the program offers to a plugin. Lives as long as the process. `job` is the
// value that `process` received; outside `process` it is NULL.
typedef struct pipeline_host {
  uint32_t abi;
  uint32_t struct_size;
  // Writes one line of plain text to the program's log.
  void (*log)(void *job, int32_t level, pipeline_string message);
  // Reports the completed fraction of the job, 0.0 to 1.0.
  void (*progress)(void *job, double fraction);
  // Returns non-zero once the job is cancelled. Cheap: call it often.
  int32_t (*cancelled)(void *job);
  // Asks to end the job once its process has used so many seconds of processor time for it, unless
  // the stage sets a limit of its own. For libraries that a file can keep busy for hours. The
  // lowest of several calls counts. Added later: see `struct_size`.
  void (*limit_cpu)(void *job, double seconds);
} pipeline_host;

// The functions of a plugin. Lives as long as the process.
typedef struct pipeline_plugin {
  uint32_t abi;
  uint32_t struct_size;
  // Returns the plugin's manifest.
  pipeline_string (*manifest)(void);
  // Creates an instance for one set of options, which the program has checked against the
  // manifest's schema. On failure, returns NULL and fills in `failure`.
  void *(*create)(pipeline_string options, pipeline_string *failure);
  // Destroys an instance.
  void (*destroy)(void *instance);
  // Returns how many bytes of memory `process` will need for a picture with
  // these facts, or a negative number if that is unknown. May be NULL.
  int64_t (*estimate)(void *instance, pipeline_string facts);
  // Runs one job: takes a request, returns a result.
  pipeline_string (*process)(void *instance, pipeline_string request, void *job);
  // Frees a string that this plugin returned.
  void (*release)(pipeline_string string);
} pipeline_plugin;

// The function that a plugin exports. Returns NULL if it can't work with this host, for example
// because `host->abi` is too new.
typedef const pipeline_plugin *(*pipeline_plugin_entry)(const pipeline_host *host);
#define PIPELINE_PLUGIN_ENTRY "pipeline_plugin_v1"

// Swift on Linux has no stable ABI, so a plugin that contains Swift must be built with the compiler
// that built the program. It exports this constant (the Swift SDK does so), which the program
// compares with its own before it calls any function of the plugin. Plugins without Swift omit it.
extern const char *const pipeline_plugin_toolchain;
#define PIPELINE_PLUGIN_TOOLCHAIN "pipeline_plugin_toolchain"

#ifdef __cplusplus
}
#endif

#endif
