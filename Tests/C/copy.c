// A plugin that makes a rendition of each file: its first bytes. It links nothing, so that a program
// which is started thousands of times spends its time on what is tested; see FaultScenario.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline_plugin.h"

static pipeline_string text(const char *characters) {
  pipeline_string string = { strdup(characters), strlen(characters) };
  return string;
}

static void release(pipeline_string string) { free((char *)string.bytes); }

static pipeline_string manifest(void) {
  return text("{\"id\":\"copy\",\"version\":\"1.0.0\",\"outputVersion\":1,\"scope\":\"original\","
              "\"options\":{\"type\":\"object\"},\"facts\":[\"bytes\"],\"makesRenditions\":true,"
              "\"estimates\":false,\"runtime\":\"\"}");
}

static int instance;

static void *create(pipeline_string options, pipeline_string *failure) { return &instance; }

static void destroy(void *pointer) {}

// Opens what a member of the request names, or a file in it. By the calls of the kernel, which tests see.
static int open_member(pipeline_string request, const char *key, const char *name, int flags) {
  const char *start = memmem(request.bytes, request.length, key, strlen(key));
  const char *end = start ? strchr(start + strlen(key), '"') : NULL;
  if (end == NULL) return -1;
  start += strlen(key);
  char path[4096];
  snprintf(path, sizeof path, "%.*s%s", (int)(end - start), start, name);
  return open(path, flags | O_CLOEXEC, 0600);
}

static pipeline_string process(void *pointer, pipeline_string request, void *job) {
  char bytes[1024];
  int input = open_member(request, "\"input\":\"", "", O_RDONLY);
  int output = open_member(request, "\"output\":\"", "/copy", O_WRONLY | O_CREAT | O_TRUNC);
  ssize_t count = read(input, bytes, sizeof bytes);
  int is_written = count > 0 && write(output, bytes, count) == count;
  if (input >= 0) close(input);
  if (output >= 0 && close(output) != 0) is_written = 0;
  if (!is_written)
    return text("{\"outcome\":\"failed\",\"failure\":{\"class\":\"transient\","
                "\"reason\":\"The file can't be copied.\"}}");
  char result[256];
  snprintf(result, sizeof result,
           "{\"outcome\":\"done\",\"facts\":{\"bytes\":%zd},\"renditions\":[{\"name\":\"copy\","
           "\"path\":\"copy\",\"mediaType\":\"application/octet-stream\",\"width\":1,\"height\":1}]}",
           count);
  return text(result);
}

static const pipeline_plugin table = {
  PIPELINE_PLUGIN_ABI, sizeof(pipeline_plugin), manifest, create, destroy, NULL, process, release };

const pipeline_plugin *pipeline_plugin_v1(const pipeline_host *host) {
  return host->abi == PIPELINE_PLUGIN_ABI ? &table : NULL;
}
