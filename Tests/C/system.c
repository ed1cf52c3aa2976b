// Makes the system behave in ways that are rare and allowed: see SystemShim.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "real.h"

static int dribbles;
static unsigned long unreadable;
static long clock_offset;
static const char *name, *event, *target, *place, *endless, *ahead;
static long place_type;
static atomic_int happened;

static long number(const char *variable) {
  const char *text = getenv(variable);
  return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
  dribbles = (int)number("PIPELINE_SYSTEM_DRIBBLES");
  unreadable = (unsigned long)number("PIPELINE_SYSTEM_UNREADABLE");
  clock_offset = number("PIPELINE_SYSTEM_CLOCK");
  endless = getenv("PIPELINE_SYSTEM_SYNC");
  ahead = getenv("PIPELINE_SYSTEM_AHEAD");
  name = getenv("PIPELINE_SYSTEM_NAME");
  event = getenv("PIPELINE_SYSTEM_EVENT");
  target = getenv("PIPELINE_SYSTEM_TARGET");
  place = getenv("PIPELINE_SYSTEM_PLACE");
  place_type = number("PIPELINE_SYSTEM_TYPE");
}

// MARK: Reading and writing

static int is_interrupted(int fd, size_t *size) {
  static _Thread_local int turn;
  struct stat status;
  if (!dribbles || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  turn = !turn;
  if (turn) { errno = EINTR; return 1; }
  if (*size > 7) *size = 7;
  return 0;
}

static int is_unreadable(int fd) {
  struct stat status;
  if (!unreadable || fstat(fd, &status) != 0 || status.st_ino != unreadable) return 0;
  errno = EIO;
  return 1;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  REAL(write);
  return is_interrupted(fd, &size) ? -1 : real(fd, bytes, size);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  return is_interrupted(fd, &size) ? -1 : real(fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  REAL(pwrite);
  return is_interrupted(fd, &size) ? -1 : real(fd, bytes, size, at);
}
ssize_t read(int fd, void *bytes, size_t size) {
  REAL(read);
  size_t all = size;
  if (is_unreadable(fd) || is_interrupted(fd, &size)) return -1;
  // Short reads mean the end of a file to some; only interruptions are sure to be allowed.
  return real(fd, bytes, all);
}
ssize_t pread(int fd, void *bytes, size_t size, off_t at) {
  REAL(pread);
  return is_unreadable(fd) ? -1 : real(fd, bytes, size, at);
}
ssize_t pread64(int fd, void *bytes, size_t size, off64_t at) {
  REAL(pread64);
  return is_unreadable(fd) ? -1 : real(fd, bytes, size, at);
}
// Whether a file has a piece of text in its path.
static int is_at(int fd, const char *text) {
  if (!text) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  path[size < 0 ? 0 : size] = 0;
  return strstr(path, text) != NULL;
}

int fsync(int fd) {
  REAL(fsync);
  if (is_at(fd, endless)) for (;;) pause();
  return real(fd);
}
int fdatasync(int fd) {
  REAL(fdatasync);
  if (is_at(fd, endless)) for (;;) pause();
  return real(fd);
}
int syncfs(int fd) {
  REAL(syncfs);
  if (is_at(fd, endless)) for (;;) pause();
  return real(fd);
}

// MARK: File systems

int fstatfs(int fd, struct statfs *result) {
  REAL(fstatfs);
  int code = real(fd, result);
  if (code == 0 && is_at(fd, place)) result->f_type = place_type;
  return code;
}

// MARK: The clock

int clock_gettime(clockid_t clock, struct timespec *time) {
  REAL(clock_gettime);
  int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += clock_offset;
  int saved = errno;
  if (clock == CLOCK_BOOTTIME && ahead && access(ahead, F_OK) == 0) time->tv_sec += 86400;
  errno = saved;
  return result;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(time, zone);
  if (result == 0) time->tv_sec += clock_offset;
  return result;
}
time_t time(time_t *result) {
  REAL(time);
  time_t now = real(NULL) + clock_offset;
  if (result) *result = now;
  return now;
}

// MARK: Opening

static void happen(int folder, const char *path) {
  if (!name) return;
  const char *last = strrchr(path, '/');
  if (strcmp(last ? last + 1 : path, name) != 0) return;
  if (atomic_exchange(&happened, 1)) return;
  int saved = errno;
  if (syscall(SYS_unlinkat, folder, path, 0) != 0) abort();
  if (event[0] == 'b' && syscall(SYS_symlinkat, target, folder, path) != 0) abort();
  errno = saved;
}

#define OPEN(function, parameters, folder, arguments) \
  int function parameters { \
    va_list list; va_start(list, flags); mode_t mode = va_arg(list, mode_t); va_end(list); \
    REAL(function); \
    happen(folder, path); \
    return real arguments; \
  }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), folder,
  (folder, path, flags, mode))
