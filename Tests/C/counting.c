// A plugin that writes the number of its jobs so far into the file `made`. ID and ANSWER, a string, are
// defined by the test.
#include <pipeline_plugin.h>
#include <stdio.h>
#include <string.h>

static pipeline_string text(const char *characters) {
  return (pipeline_string){ characters, strlen(characters) };
}
static void release(pipeline_string string) {}
static pipeline_string manifest(void) {
  return text("{\"id\":\"" ID "\",\"version\":\"1\",\"outputVersion\":1,"
    "\"scope\":\"original\",\"options\":{\"type\":\"object\"},\"facts\":[],"
    "\"makesRenditions\":true,\"estimates\":false,\"runtime\":\"\"}");
}
static int jobs;
static void *create(pipeline_string options, pipeline_string *failure) { return &jobs; }
static void destroy(void *instance) {}
static pipeline_string process(void *instance, pipeline_string request, void *job) {
  FILE *file = fopen("made", "w");
  fprintf(file, "%d", jobs++);
  fclose(file);
  return text(ANSWER);
}
static const pipeline_plugin table = { PIPELINE_PLUGIN_ABI, sizeof(pipeline_plugin),
  manifest, create, destroy, NULL, process, release };
const pipeline_plugin *pipeline_plugin_v1(const pipeline_host *host) { return &table; }
