// A plugin that does the worst it can. The first word of a file is the deed, the second its object.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pipeline_plugin.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const pipeline_host *program;

static pipeline_string text(const char *characters) {
  pipeline_string string = { strdup(characters), strlen(characters) };
  return string;
}
static void give_back(pipeline_string string) { free((char *)string.bytes); }
static pipeline_string manifest(void) {
  return text("{\"id\":\"hostile\",\"version\":\"1\",\"outputVersion\":1,\"scope\":\"original\","
              "\"options\":{\"type\":\"object\"},\"facts\":[\"number\"],"
              "\"makesRenditions\":true,\"estimates\":true,\"runtime\":\"C\"}");
}
static void *create(pipeline_string options, pipeline_string *failure) { return &program; }
static void destroy(void *instance) {}
static int64_t estimate(void *instance, pipeline_string facts) { return 4096; }

// A string of the request, found by its key.
static char *value(pipeline_string request, const char *key) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "\"%s\":\"", key);
  char *copy = strndup(request.bytes, request.length);
  char *start = strstr(copy, wanted);
  if (!start) return strdup("");
  start += strlen(wanted);
  *strchr(start, '"') = 0;
  return start;
}
static pipeline_string number(long number) {
  char answer[128];
  snprintf(answer, sizeof answer, "{\"outcome\":\"done\",\"facts\":{\"number\":%ld}}", number);
  return text(answer);
}
static void *spin(void *unused) { for (;;) pause(); }
// What a plugin does that goes on when its job is over.
static void *linger(void *unused) {
  for (int i = 0; ; i++) {
    char name[32];
    snprintf(name, sizeof name, "late %d", i);
    close(open(name, O_WRONLY | O_CREAT, 0600));
    usleep(10000);
  }
}
static int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return recurse(depth + 1) + frame[0];
}

static pipeline_string process(void *instance, pipeline_string request, void *job) {
  char deed[64] = "", object[1024] = "";
  char *input = value(request, "input");
  FILE *file = fopen(input, "r");
  if (!file) return number(-errno);
  if (fscanf(file, "%63s %1023s", deed, object) < 1) deed[0] = 0;
  fclose(file);
  if (!strcmp(deed, "segv")) raise(SIGSEGV);
  if (!strcmp(deed, "null")) *(volatile int *)8 = 1;
  if (!strcmp(deed, "abort")) abort();
  if (!strcmp(deed, "trap")) __builtin_trap();
  if (!strcmp(deed, "exit")) exit(7);
  if (!strcmp(deed, "stack")) return number(recurse(0));
  if (!strcmp(deed, "hang")) for (;;) pause();
  if (!strcmp(deed, "stubborn")) {
    signal(SIGTERM, SIG_IGN);
    for (;;) pause();
  }
  if (!strcmp(deed, "burn")) for (;;) { }
  if (!strcmp(deed, "flood")) {
    char line[1000];
    memset(line, 'x', sizeof line);
    line[999] = '\n';
    for (int i = 0; i < 20000; i++) if (write(2, line, sizeof line) < 0) break;
    for (int i = 0; i < 20000; i++) program->log(job, 1, text("said again and again"));
  }
  if (!strcmp(deed, "nonsense")) return text("\xff\xfe no JSON");
  if (!strcmp(deed, "scribble"))
    for (int i = 3; i < 64; i++) if (write(i, "nonsense\n", 9) < 0) continue;
  if (!strcmp(deed, "facts")) {
    // Small as text, large as values.
    const char *start = "{\"outcome\":\"done\",\"facts\":{\"a\":[0";
    char *answer = malloc(3 << 20);
    char *end = stpcpy(answer, start);
    for (int i = 0; i < 1 << 20; i++) end = stpcpy(end, ",0");
    strcpy(end, "]}}");
    return text(answer);
  }
  if (!strcmp(deed, "say")) {
    // What is said is what stands behind the word.
    char *answer = calloc(1, 1 << 16);
    file = fopen(input, "r");
    fread(answer, 1, (1 << 16) - 1, file);
    fclose(file);
    program->log(job, 3, text(answer));
    return text(answer + 4);
  }
  if (!strcmp(deed, "escape"))
    return text("{\"outcome\":\"done\",\"renditions\":[{\"name\":\"a\",\"path\":\"../in/x\","
                "\"mediaType\":\"image/png\",\"width\":1,\"height\":1}]}");
  if (!strcmp(deed, "absolute"))
    return text("{\"outcome\":\"done\",\"renditions\":[{\"name\":\"a\",\"path\":\"/etc/passwd\","
                "\"mediaType\":\"image/png\",\"width\":1,\"height\":1}]}");
  if (!strcmp(deed, "missing"))
    return text("{\"outcome\":\"done\",\"renditions\":[{\"name\":\"a\",\"path\":\"a\","
                "\"mediaType\":\"image/png\",\"width\":1,\"height\":1}]}");
  if (!strcmp(deed, "pipe")) {
    if (mkfifo("a", 0600)) return number(errno);
    return text("{\"outcome\":\"done\",\"renditions\":[{\"name\":\"a\",\"path\":\"a\","
                "\"mediaType\":\"image/png\",\"width\":1,\"height\":1}]}");
  }
  if (!strcmp(deed, "make")) {
    int made = open(object, O_WRONLY | O_CREAT, 0600);
    return number(made < 0 ? errno : 0);
  }
  if (!strcmp(deed, "read")) return number(open(object, O_RDONLY) < 0 ? errno : 0);
  if (!strcmp(deed, "spoil")) {
    // The original itself, by the name that it has here.
    if (open(input, O_WRONLY) >= 0 || open(input, O_RDWR | O_TRUNC) >= 0) return number(0);
    if (!truncate(input, 0) || !chmod(input, 0666) || !unlink(input)) return number(0);
    if (open(input, O_RDONLY | O_TRUNC) >= 0) return number(0);
    return number(errno);
  }
  if (!strcmp(deed, "connect")) {
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (made < 0) return number(errno);
    struct sockaddr_in address = { AF_INET, htons(atoi(object)), { htonl(INADDR_LOOPBACK) } };
    return number(connect(made, (struct sockaddr *)&address, sizeof address) ? errno : 0);
  }
  if (!strcmp(deed, "fork")) {
    for (int i = 0; i < 100000; i++) if (fork() < 0) return number(errno);
    return number(0);
  }
  if (!strcmp(deed, "exec")) {
    execl("/bin/true", "true", NULL);
    return number(errno);
  }
  if (!strcmp(deed, "kill")) return number(kill(getppid(), SIGKILL) ? errno : 0);
  if (!strcmp(deed, "memory")) {
    for (;;) {
      char *block = malloc(1 << 20);
      if (!block) return number(errno);
      memset(block, 1, 1 << 20);
      usleep(200);
    }
  }
  if (!strcmp(deed, "shared")) {
    char *block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return number(block == MAP_FAILED ? errno : 0);
  }
  if (!strcmp(deed, "tables")) {
    // Pages of nothing cost nothing; the tables that lead to them do.
    volatile char *block = mmap(NULL, 1l << 45, PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return number(errno);
    for (long at = 0; at < 1l << 45; at += 1l << 21) {
      (void)block[at];
      if (at % (1l << 28) == 0) usleep(200);
    }
    return number(0);
  }
  if (!strcmp(deed, "pipes")) {
    // What is in pipes is the kernel's, and no process's own.
    char block[65536] = "";
    for (int made = 0; made < 400; made++) {
      int ends[2];
      if (pipe(ends)) break;
      fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
      fcntl(ends[1], F_SETFL, O_NONBLOCK);
      while (write(ends[1], block, sizeof block) > 0) { }
    }
    return number(0);
  }
  if (!strcmp(deed, "gulp")) {
    char *block = mmap(NULL, 64l << 30, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return number(block == MAP_FAILED ? errno : 0);
  }
  if (!strcmp(deed, "descriptors")) {
    int count = 0;
    while (dup(0) >= 0 && count < 1000000) count++;
    return number(count > 10 && count < 100000);
  }
  if (!strcmp(deed, "large")) {
    char block[4096] = "";
    FILE *output = fopen("large", "w");
    if (!output) return number(errno);
    for (int i = 0; i < 4096; i++) fwrite(block, 1, sizeof block, output);
    fflush(output);
    return number(0);
  }
  if (!strcmp(deed, "many")) {
    for (int i = 0; ; i++) {
      char name[32];
      snprintf(name, sizeof name, "%d", i);
      int made = open(name, O_WRONLY | O_CREAT, 0600);
      if (made < 0) return number(errno);
      close(made);
      usleep(1000);
    }
  }
  if (!strcmp(deed, "deep")) {
    for (int i = 0; i < 3000; i++) if (mkdir("d", 0700) || chdir("d")) break;
    return number(0);
  }
  if (!strcmp(deed, "linger")) {
    pthread_t thread;
    pthread_create(&thread, NULL, linger, NULL);
    return number(0);
  }
  if (!strcmp(deed, "threads")) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    pthread_t thread;
    for (int i = 0; i < 2000; i++) if (pthread_create(&thread, &small, spin, NULL)) break;
    for (;;) pause();
  }
  if (!strcmp(deed, "downwards")) {
    char *block = mmap(NULL, 1l << 30, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
    return number(block == MAP_FAILED ? errno : 0);
  }
  if (!strcmp(deed, "thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    return number(0);
  }
  return number(strlen(deed));
}
static const pipeline_plugin table = { PIPELINE_PLUGIN_ABI, sizeof(pipeline_plugin), manifest,
  create, destroy, estimate, process, give_back };
const pipeline_plugin *pipeline_plugin_v1(const pipeline_host *host) {
  program = host;
  return &table;
}
