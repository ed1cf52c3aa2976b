// A plugin for Benchmarks/storage: makes a rendition of as many bytes as its option `bytes` says,
// different ones for each file.
#define _GNU_SOURCE
#include <pipeline_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pipeline_string text(const char *characters) {
  pipeline_string string = { strdup(characters), strlen(characters) };
  return string;
}

static void release(pipeline_string string) { free((char *)string.bytes); }

static pipeline_string manifest(void) {
  return text("{\"id\":\"bytes\",\"version\":\"1.0.0\",\"outputVersion\":1,\"scope\":\"original\","
              "\"options\":{\"type\":\"object\",\"properties\":{\"bytes\":{\"type\":\"integer\"}}},"
              "\"facts\":[],\"makesRenditions\":true,\"estimates\":false,\"runtime\":\"\"}");
}

struct instance { long size; uint64_t state; uint64_t *bytes; };

static void *create(pipeline_string options, pipeline_string *failure) {
  const char *key = memmem(options.bytes, options.length, "\"bytes\":", 8);
  struct instance *instance = calloc(1, sizeof *instance);
  if (key == NULL || instance == NULL) return NULL;
  instance->size = atol(key + 8);
  instance->bytes = malloc(instance->size + 8);
  instance->state = 88172645463325252u ^ (uint64_t)(uintptr_t)instance;
  return instance;
}

static void destroy(void *pointer) {
  struct instance *instance = pointer;
  free(instance->bytes);
  free(instance);
}

static pipeline_string process(void *pointer, pipeline_string request, void *job) {
  struct instance *instance = pointer;
  // xorshift: bytes that nothing can compress or share.
  for (long word = 0; word < (instance->size + 7) / 8; word++) {
    instance->state ^= instance->state << 13;
    instance->state ^= instance->state >> 7;
    instance->state ^= instance->state << 17;
    instance->bytes[word] = instance->state;
  }
  const char *key = memmem(request.bytes, request.length, "\"output\":\"", 10);
  const char *end = key ? strchr(key + 10, '"') : NULL;
  char path[4096];
  FILE *file = NULL;
  if (end) {
    snprintf(path, sizeof path, "%.*s/r", (int)(end - key - 10), key + 10);
    file = fopen(path, "w");
  }
  size_t written = file ? fwrite(instance->bytes, 1, instance->size, file) : 0;
  if (file == NULL || fclose(file) != 0 || written != (size_t)instance->size)
    return text("{\"outcome\":\"failed\",\"failure\":{\"class\":\"transient\","
                "\"reason\":\"The bytes can't be written.\"}}");
  return text("{\"outcome\":\"done\",\"renditions\":[{\"name\":\"r\",\"path\":\"r\","
              "\"mediaType\":\"application/octet-stream\",\"width\":1,\"height\":1}]}");
}

static const pipeline_plugin table = {
  PIPELINE_PLUGIN_ABI, sizeof(pipeline_plugin), manifest, create, destroy, NULL, process, release };

const pipeline_plugin *pipeline_plugin_v1(const pipeline_host *host) {
  return host->abi == PIPELINE_PLUGIN_ABI ? &table : NULL;
}
