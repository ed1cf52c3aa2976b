// A plugin that gives every file the same answer. Tests define the macros to replace parts of it; texts
// are literals.
#include <stdio.h>
#include <string.h>

#include "pipeline_plugin.h"

#ifndef ABI
#define ABI PIPELINE_PLUGIN_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(pipeline_plugin)
#endif
#ifndef ID
#define ID "sample"
#endif
#ifndef OUTPUT_VERSION
#define OUTPUT_VERSION "1"
#endif
#ifndef MANIFEST
#define MANIFEST \
  "{\"id\":\"" ID "\",\"version\":\"1\",\"outputVersion\":" OUTPUT_VERSION "," \
  "\"scope\":\"original\",\"options\":{\"type\":\"object\"},\"accepts\":[\"text/*\"]," \
  "\"facts\":[\"answer\"],\"makesRenditions\":false,\"estimates\":true,\"runtime\":\"C\"}"
#endif
#ifndef ANSWER
#define ANSWER "{\"outcome\":\"done\",\"facts\":{\"answer\":42}}"
#endif
#ifndef RELEASE
#define RELEASE release
#endif
#ifndef IS_EMPTY
#define IS_EMPTY 0
#endif
#ifndef ENTRY
#define ENTRY pipeline_plugin_v1
#endif

int releases;
static const pipeline_host *program;

static pipeline_string text(const char *characters) {
  pipeline_string string = { *characters ? characters : 0, strlen(characters) };
  return string;
}
static pipeline_string manifest(void) { return text(MANIFEST); }
static void *create(pipeline_string options, pipeline_string *failure) {
#ifdef CREATE_FAILURE
  *failure = text(CREATE_FAILURE);
  return NULL;
#else
  return &releases;
#endif
}
static void destroy(void *instance) {}
static int64_t estimate(void *instance, pipeline_string facts) { return 4096; }
static pipeline_string process(void *instance, pipeline_string request, void *job) {
  program->log(job, PIPELINE_LOG_INFO, text("at work"));
  program->progress(job, 0.5);
  program->progress(job, 7);
  if (program->cancelled(job))
    return text("{\"outcome\":\"failed\",\"failure\":"
                "{\"class\":\"transient\",\"reason\":\"Given up.\"}}");
  return text(ANSWER);
}
__attribute__((unused)) static void release(pipeline_string string) { releases++; }
static const pipeline_plugin table = {
  ABI, SIZE, manifest, create, destroy, estimate, process, RELEASE };

const pipeline_plugin *ENTRY(const pipeline_host *host) {
#ifdef MARKER
  fclose(fopen(MARKER, "w"));
#endif
  if (IS_EMPTY) return NULL;
  program = host;
  return &table;
}

#ifdef TOOLCHAIN
const char *const pipeline_plugin_toolchain = TOOLCHAIN;
#endif
