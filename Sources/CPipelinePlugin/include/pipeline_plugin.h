// pipeline_plugin.h: the C ABI of a pipeline plugin, version 1.
//
// A plugin is a shared library named `libpipeline-ID.so` that exports one
// function, `pipeline_plugin_v1`. The program loads it with RTLD_NOW and
// RTLD_LOCAL and never unloads it. Every message is one JSON document in
// UTF-8; bytes of pictures go by files. `docs/plugins.md` describes the
// messages.
//
// Rules that hold for both tables
//   - `abi` is PIPELINE_PLUGIN_ABI, `struct_size` is sizeof the table as its
//     writer knew it. Fields are only ever added at the end, so a reader
//     compares `struct_size` before it touches a field that came later.
//   - Strings are pointer and length, never terminated by a NUL.
//   - A string given to a function is borrowed until that function returns.
//   - A string returned by the plugin belongs to the caller, who gives it back
//     to the plugin's own `release` exactly once.
//
// Threads: `create`, `manifest` and `destroy` are called by one thread at a
// time. An instance is used by one thread at a time, though not always by the
// same one; different instances run at the same moment on different threads.

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

// What the program offers to a plugin. Lives as long as the process.
// `job` is the value that `process` was given; outside `process` it is NULL.
typedef struct pipeline_host {
  uint32_t abi;
  uint32_t struct_size;
  // Writes one line of plain text to the program's log.
  void (*log)(void *job, int32_t level, pipeline_string message);
  // Says how much of the job is done, 0.0 to 1.0.
  void (*progress)(void *job, double fraction);
  // Returns non-zero once the job should be given up. Cheap: ask often.
  int32_t (*cancelled)(void *job);
} pipeline_host;

// What a plugin is. Lives as long as the process.
typedef struct pipeline_plugin {
  uint32_t abi;
  uint32_t struct_size;
  // Returns the plugin's manifest.
  pipeline_string (*manifest)(void);
  // Makes an instance for one set of options, already checked against the
  // manifest's schema. Returns NULL and fills `failure` when it can't.
  void *(*create)(pipeline_string options, pipeline_string *failure);
  // Ends an instance.
  void (*destroy)(void *instance);
  // Returns how many bytes of memory `process` will need for a picture with
  // these facts, or a negative number if that is unknown. May be NULL.
  int64_t (*estimate)(void *instance, pipeline_string facts);
  // Does the work of one job: takes a request, returns a result.
  pipeline_string (*process)(void *instance, pipeline_string request, void *job);
  // Takes back a string that this plugin returned.
  void (*release)(pipeline_string string);
} pipeline_plugin;

// The one function that a plugin exports. Returns NULL if it can't work with
// this host (for example because `host->abi` is too new for it).
typedef const pipeline_plugin *(*pipeline_plugin_entry)(const pipeline_host *host);
#define PIPELINE_PLUGIN_ENTRY "pipeline_plugin_v1"

// Swift on Linux has no stable ABI, so a plugin that contains Swift must come
// from the compiler that built the program. Such a plugin exports this constant
// (the Swift SDK does it); the program compares it with its own before it
// calls any function of the plugin. Plugins without Swift don't have it.
extern const char *const pipeline_plugin_toolchain;
#define PIPELINE_PLUGIN_TOOLCHAIN "pipeline_plugin_toolchain"

#ifdef __cplusplus
}
#endif

#endif
