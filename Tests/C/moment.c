// Kills a process before or after one call, or lets the call fail: see MomentShim.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "real.h"

static const char *side, *call, *place, *wanted, *preceding;
static atomic_int is_behind, has_failed;

__attribute__((constructor)) static void begin(void) {
  side = getenv("PIPELINE_MOMENT_SIDE");
  call = getenv("PIPELINE_MOMENT_CALL");
  place = getenv("PIPELINE_MOMENT_PLACE");
  wanted = getenv("PIPELINE_MOMENT_BYTES");
  preceding = getenv("PIPELINE_MOMENT_BEHIND");
  is_behind = !preceding;
}

static int contains(const void *bytes, size_t size, const char *piece) {
  return memmem(bytes, size, piece, strlen(piece)) != NULL;
}

// The path of a name in an open folder, or of the open file itself.
static int is_place(int fd, const char *name) {
  int saved = errno;
  char link[64], path[8192];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = name && name[0] == '/' ? 0 : readlink(link, path, 4096);
  if (size < 0) size = 0;
  snprintf(path + size, sizeof path - size, "%s%s", name ? "/" : "", name ? name : "");
  errno = saved;
  return strstr(path, place) != NULL;
}

static int is_chosen(const char *name, int fd, const char *path) {
  return side && strcmp(call, name) == 0 && is_behind && is_place(fd, path);
}

static void die_on(const char *at) {
  if (strcmp(side, at) != 0) return;
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

#define STRUCK(type, chosen, arguments) \
  int is_the_one = chosen; \
  if (is_the_one && strcmp(side, "fail") == 0 && !atomic_exchange(&has_failed, 1)) { \
    errno = EIO; \
    return -1; \
  } \
  if (is_the_one) die_on("before"); \
  type result = real arguments; \
  if (is_the_one) die_on("after"); \
  return result

#define WRITE(name, parameters, arguments) \
  ssize_t name parameters { \
    REAL(name); \
    int is_preceding = preceding && contains(bytes, size, preceding); \
    int is_the_one = is_chosen("write", fd, NULL) \
      && (!wanted || contains(bytes, size, wanted)); \
    if (is_the_one) die_on("before"); \
    ssize_t result = real arguments; \
    if (is_the_one) die_on("after"); \
    if (is_preceding) is_behind = 1; \
    return result; \
  }
WRITE(write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
WRITE(pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
WRITE(pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at))

int fsync(int fd) {
  REAL(fsync);
  STRUCK(int, is_chosen("flush", fd, NULL), (fd));
}
int fdatasync(int fd) {
  REAL(fdatasync);
  STRUCK(int, is_chosen("flush", fd, NULL), (fd));
}
int renameat(int from, const char *old, int to, const char *new) {
  REAL(renameat);
  STRUCK(int, is_chosen("rename", to, new), (from, old, to, new));
}
int renameat2(int from, const char *old, int to, const char *new, unsigned int flags) {
  REAL(renameat2);
  STRUCK(int, is_chosen("rename", to, new), (from, old, to, new, flags));
}
int fchmod(int fd, mode_t mode) {
  REAL(fchmod);
  STRUCK(int, is_chosen("chmod", fd, NULL), (fd, mode));
}
int unlinkat(int folder, const char *path, int flags) {
  REAL(unlinkat);
  STRUCK(int, is_chosen("unlink", folder, path), (folder, path, flags));
}
