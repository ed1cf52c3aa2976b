// Counts the calls by which a process changes files, and strikes at one: see PreloadShim.
// The calls are those that glibc exports; both names of a call with two.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "real.h"

static atomic_long calls;
// For each call whether it wrote bytes.
enum { KINDS = 1 << 16 };
static char kinds[KINDS];
static _Thread_local int is_writing;
static long target;
static char strike;
static const char *count_file;
// Where set, only the syncs of files with this in their path count.
static const char *synced;
// Whether what is sent to servers counts as well.
static int sends;

__attribute__((constructor)) static void begin(void) {
  const char *call = getenv("PIPELINE_PRELOAD_CALL");
  const char *kind = getenv("PIPELINE_PRELOAD_STRIKE");
  target = call ? atol(call) : 0;
  strike = kind ? kind[0] : 'k';
  count_file = getenv("PIPELINE_PRELOAD_COUNT");
  synced = getenv("PIPELINE_PRELOAD_SYNCS");
  sends = getenv("PIPELINE_PRELOAD_SENDS") != NULL;
}

__attribute__((destructor)) static void end(void) {
  if (!count_file) return;
  FILE *file = fopen(count_file, "w");
  if (!file) return;
  long count = atomic_load(&calls);
  fprintf(file, "%ld", count);
  fclose(file);
  char name[4096];
  snprintf(name, sizeof name, "%s.kinds", count_file);
  file = fopen(name, "w");
  if (!file) return;
  for (long call = 1; call <= count; call++) fputc(call < KINDS ? kinds[call] : '-', file);
  fclose(file);
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// Returns whether the call is to fail; does not return if the process is to die.
static int count_call(void) {
  long call = atomic_fetch_add(&calls, 1) + 1;
  if (call < KINDS) kinds[call] = is_writing ? 'w' : '-';
  if (call != target) return 0;
  if (strike == 'k' || strike == 't') die();
  errno = strike == 'i' ? EIO : ENOSPC;
  return 1;
}

static int is_struck(void) { return synced ? 0 : count_call(); }

static int is_write_struck(void) {
  is_writing = 1;
  int result = is_struck();
  is_writing = 0;
  return result;
}

static int is_sync_struck(int fd) {
  if (!synced) return count_call();
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return strstr(path, synced) ? count_call() : 0;
}

#define COUNTED(type, name, parameters, arguments) \
  type name parameters { \
    REAL(name); \
    return is_struck() ? -1 : real arguments; \
  }

// Pipes, sockets and event descriptors are no files, and nothing of them lasts.
static int is_file(int fd) {
  struct stat status;
  int saved = errno;
  int result = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 0;
  errno = saved;
  return result;
}

static int is_torn(void) {
  return strike == 't' && atomic_load(&calls) + 1 == target;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  REAL(write);
  if (!is_file(fd)) return real(fd, bytes, size);
  if (is_torn()) real(fd, bytes, size / 2);
  return is_write_struck() ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  REAL(pwrite);
  if (is_torn()) real(fd, bytes, size / 2, at);
  return is_write_struck() ? -1 : real(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  if (is_torn()) real(fd, bytes, size / 2, at);
  return is_write_struck() ? -1 : real(fd, bytes, size, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  if (!is_file(fd)) return real(fd, parts, count);
  return is_write_struck() ? -1 : real(fd, parts, count);
}

// As libpq and libcurl send. If it fails, the connection is reset.
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
  REAL(send);
  if (!sends) return real(fd, bytes, size, flags);
  if (is_torn()) real(fd, bytes, size / 2, flags);
  if (!is_write_struck()) return real(fd, bytes, size, flags);
  shutdown(fd, SHUT_RDWR);
  errno = ECONNRESET;
  return -1;
}

COUNTED(int, rename, (const char *a, const char *b), (a, b))
COUNTED(int, renameat, (int f, const char *a, int g, const char *b), (f, a, g, b))
COUNTED(int, renameat2, (int f, const char *a, int g, const char *b, unsigned int h),
  (f, a, g, b, h))
COUNTED(int, link, (const char *a, const char *b), (a, b))
COUNTED(int, linkat, (int f, const char *a, int g, const char *b, int h), (f, a, g, b, h))
COUNTED(int, unlink, (const char *a), (a))
COUNTED(int, unlinkat, (int f, const char *a, int g), (f, a, g))
COUNTED(int, rmdir, (const char *a), (a))
int fsync(int fd) {
  REAL(fsync);
  return is_sync_struck(fd) ? -1 : real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return is_sync_struck(fd) ? -1 : real(fd);
}

int syncfs(int fd) {
  REAL(syncfs);
  return is_sync_struck(fd) ? -1 : real(fd);
}

// Where it waits, it is the half of a flush that concerns a file's bytes.
int sync_file_range(int fd, off64_t from, off64_t size, unsigned int flags) {
  REAL(sync_file_range);
  if ((flags & SYNC_FILE_RANGE_WAIT_AFTER) && is_sync_struck(fd)) return -1;
  return real(fd, from, size, flags);
}

COUNTED(int, mkdir, (const char *a, mode_t m), (a, m))
COUNTED(int, mkdirat, (int f, const char *a, mode_t m), (f, a, m))
COUNTED(int, chmod, (const char *a, mode_t m), (a, m))
COUNTED(int, fchmod, (int f, mode_t m), (f, m))
COUNTED(int, fchmodat, (int f, const char *a, mode_t m, int g), (f, a, m, g))
COUNTED(int, ftruncate, (int f, off_t s), (f, s))
COUNTED(int, ftruncate64, (int f, off64_t s), (f, s))
COUNTED(ssize_t, copy_file_range,
  (int f, off64_t *a, int g, off64_t *b, size_t s, unsigned int h), (f, a, g, b, s, h))

int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  REAL(ioctl);
  if (request == FICLONE && is_struck()) return -1;
  return real(fd, request, argument);
}
