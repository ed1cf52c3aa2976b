// Writes down every call by which a process changes files: see TraceShim.
// One lock is held over each call and its record, so that the trace has the order of the calls.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "real.h"

enum { CREATE = 1, WRITE, TRUNCATE, RENAME, LINK, UNLINK, MKDIR, RMDIR, SYNC, SYNC_DATA, META,
  OUTPUT, UNKNOWN, SYNC_ALL };

struct record {
  uint32_t type, first;
  uint64_t inode, offset, size;
  uint32_t mode, second;
  int64_t modified, changed;
};

struct shown { uint64_t inode; int64_t changed; uint64_t shown_inode; int64_t shown_changed; };

static int trace = -1;
static struct shown *shown;
static size_t shown_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("PIPELINE_TRACE_FILE");
  if (path) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path,
      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    // Away from the low numbers, which programs close and open again.
    trace = (int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 700);
    syscall(SYS_close, file);
    if (trace < 0) abort();
  }
  path = getenv("PIPELINE_TRACE_SHOWN");
  if (path) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) abort();
    size_t room = 1 << 20;
    shown = malloc(room);
    ssize_t size = syscall(SYS_read, file, shown, room);
    if (size < 0) abort();
    shown_count = (size_t)size / sizeof *shown;
    syscall(SYS_close, file);
  }
}

static int64_t nanoseconds(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int real_status(int folder, const char *path, struct stat *status, int flags) {
  static int (*real)(int, const char *, struct stat *, int);
  if (!real) real = dlsym(RTLD_NEXT, "fstatat");
  int saved = errno;
  int result = real(folder, path, status, flags);
  errno = saved;
  return result;
}

static void put(const void *bytes, size_t size) {
  const char *at = bytes;
  while (size > 0) {
    ssize_t count = syscall(SYS_write, trace, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) abort();
    at += count;
    size -= (size_t)count;
  }
}

static void note(int type, const struct stat *status, uint64_t offset, const void *first,
  size_t first_size, const char *second)
{
  int saved = errno;
  struct record record = { .type = type, .first = first_size, .offset = offset,
    .second = second ? strlen(second) : 0 };
  if (status) {
    record.inode = status->st_ino;
    record.size = status->st_size;
    record.mode = status->st_mode;
    record.modified = nanoseconds(status->st_mtim);
    record.changed = nanoseconds(status->st_ctim);
  }
  put(&record, sizeof record);
  put(first, first_size);
  if (second) put(second, record.second);
  errno = saved;
}

static void absolute(int folder, const char *path, char *result) {
  int saved = errno;
  if (path[0] == '/') {
    snprintf(result, 8192, "%s", path);
  } else {
    char link[64], base[4096];
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t size = readlink(link, base, sizeof base - 1);
    base[size < 0 ? 0 : size] = 0;
    snprintf(result, 8192, "%s/%s", base, path);
  }
  errno = saved;
}

static void note_path(int type, int folder, const char *path) {
  char name[8192];
  struct stat status;
  absolute(folder, path, name);
  int found = real_status(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
  note(type, found ? &status : NULL, 0, name, strlen(name), NULL);
}

static void note_paths(int type, int folder, const char *path, int other, const char *target) {
  char name[8192], second[8192];
  struct stat status;
  absolute(folder, path, name);
  absolute(other, target, second);
  int found = real_status(other, target, &status, AT_SYMLINK_NOFOLLOW) == 0;
  note(type, found ? &status : NULL, 0, name, strlen(name), second);
}

static void note_file(int type, int fd, uint64_t offset, const void *bytes, size_t size) {
  struct stat status;
  if (real_status(fd, "", &status, AT_EMPTY_PATH) != 0) return;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return;
  note(type, &status, offset, bytes, size, NULL);
}

#define TRACED(type, real_call, note_call) \
  if (trace < 0) return real_call; \
  pthread_mutex_lock(&mutex); \
  type result = real_call; \
  if (result >= 0) { note_call; } \
  pthread_mutex_unlock(&mutex); \
  return result

// MARK: Opening

static int note_open(int (*real)(int, const char *, int, ...), int folder, const char *path,
  int flags, mode_t mode)
{
  if (trace < 0 || !(flags & (O_CREAT | O_TRUNC))) return real(folder, path, flags, mode);
  pthread_mutex_lock(&mutex);
  struct stat status;
  int was = real_status(folder, path, &status, 0) == 0;
  int fd = real(folder, path, flags, mode);
  if (fd >= 0 && !was) note_path(CREATE, folder, path);
  else if (fd >= 0 && (flags & O_TRUNC)) note_file(TRUNCATE, fd, 0, NULL, 0);
  pthread_mutex_unlock(&mutex);
  return fd;
}

static int real_openat(int folder, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  static int (*real)(int, const char *, int, ...);
  if (!real) real = dlsym(RTLD_NEXT, "openat");
  return real(folder, path, flags, mode);
}

#define MODE(last) \
  va_list list; va_start(list, last); \
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; va_end(list)

int open(const char *path, int flags, ...) {
  MODE(flags); return note_open(real_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags); return note_open(real_openat, AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE(flags); return note_open(real_openat, folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags); return note_open(real_openat, folder, path, flags, mode);
}

// MARK: Bytes

ssize_t write(int fd, const void *bytes, size_t size) {
  REAL(write);
  if (fd == 1) { TRACED(ssize_t, real(fd, bytes, size), note(OUTPUT, NULL, 0, bytes, result, NULL)); }
  TRACED(ssize_t, real(fd, bytes, size),
    off_t end = lseek(fd, 0, SEEK_CUR);
    if (end >= 0) note_file(WRITE, fd, end - result, bytes, result));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  TRACED(ssize_t, real(fd, parts, count), note_file(UNKNOWN, fd, 0, "writev", 6));
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  REAL(pwrite);
  TRACED(ssize_t, real(fd, bytes, size, at), note_file(WRITE, fd, at, bytes, result));
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  TRACED(ssize_t, real(fd, bytes, size, at), note_file(WRITE, fd, at, bytes, result));
}

static void note_copied(int fd, size_t size) {
  off_t end = lseek(fd, 0, SEEK_CUR);
  void *bytes = malloc(size);
  ssize_t count = pread(fd, bytes, size, end - size);
  if (count == (ssize_t)size) note_file(WRITE, fd, end - size, bytes, size);
  else note_file(UNKNOWN, fd, 0, "copied", 6);
  free(bytes);
}

ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t size, unsigned int flags) {
  REAL(copy_file_range);
  TRACED(ssize_t, real(from, a, to, b, size, flags),
    if (b) note_file(UNKNOWN, to, 0, "copy_file_range", 15); else note_copied(to, result));
}

int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  REAL(ioctl);
  // A clone would have to be read back; no file system of the tests has them.
  if (request == FICLONE) { TRACED(int, real(fd, request, argument),
    note_file(UNKNOWN, fd, 0, "clone", 5)); }
  return real(fd, request, argument);
}

#define FILE_CALL(type, kind, name, parameters, arguments, fd, offset) \
  type name parameters { \
    REAL(name); \
    TRACED(type, real arguments, note_file(kind, fd, offset, NULL, 0)); \
  }

FILE_CALL(int, TRUNCATE, ftruncate, (int fd, off_t size), (fd, size), fd, size)
FILE_CALL(int, TRUNCATE, ftruncate64, (int fd, off64_t size), (fd, size), fd, size)
FILE_CALL(int, SYNC, fsync, (int fd), (fd), fd, 0)
FILE_CALL(int, SYNC_DATA, fdatasync, (int fd), (fd), fd, 0)
FILE_CALL(int, SYNC_ALL, syncfs, (int fd), (fd), fd, 0)
FILE_CALL(int, META, fchmod, (int fd, mode_t mode), (fd, mode), fd, 0)
FILE_CALL(int, META, futimens, (int fd, const struct timespec times[2]), (fd, times), fd, 0)

// The memory that the files are in stands for a disk, whose files can be flushed together.
int fstatfs(int fd, struct statfs *result) {
  REAL(fstatfs);
  int code = real(fd, result);
  if (trace >= 0 && code == 0 && result->f_type == TMPFS_MAGIC)
    result->f_type = EXT4_SUPER_MAGIC;
  return code;
}

// MARK: Names

#define NAME_CALL(kind, name, parameters, arguments, folder, path) \
  int name parameters { \
    REAL(name); \
    TRACED(int, real arguments, note_path(kind, folder, path)); \
  }
#define NAMES_CALL(kind, name, parameters, arguments, folder, path, other, target) \
  int name parameters { \
    REAL(name); \
    TRACED(int, real arguments, note_paths(kind, folder, path, other, target)); \
  }

NAMES_CALL(RENAME, rename, (const char *a, const char *b), (a, b), AT_FDCWD, a, AT_FDCWD, b)
NAMES_CALL(RENAME, renameat, (int f, const char *a, int g, const char *b), (f, a, g, b),
  f, a, g, b)
NAMES_CALL(RENAME, renameat2, (int f, const char *a, int g, const char *b, unsigned int h),
  (f, a, g, b, h), f, a, g, b)
NAMES_CALL(LINK, link, (const char *a, const char *b), (a, b), AT_FDCWD, a, AT_FDCWD, b)
NAMES_CALL(LINK, linkat, (int f, const char *a, int g, const char *b, int h), (f, a, g, b, h),
  f, a, g, b)
NAME_CALL(UNLINK, unlink, (const char *a), (a), AT_FDCWD, a)
NAME_CALL(MKDIR, mkdir, (const char *a, mode_t m), (a, m), AT_FDCWD, a)
NAME_CALL(MKDIR, mkdirat, (int f, const char *a, mode_t m), (f, a, m), f, a)
NAME_CALL(RMDIR, rmdir, (const char *a), (a), AT_FDCWD, a)
NAME_CALL(META, chmod, (const char *a, mode_t m), (a, m), AT_FDCWD, a)
NAME_CALL(META, fchmodat, (int f, const char *a, mode_t m, int g), (f, a, m, g), f, a)

int unlinkat(int folder, const char *path, int flags) {
  REAL(unlinkat);
  TRACED(int, real(folder, path, flags),
    note_path(flags & AT_REMOVEDIR ? RMDIR : UNLINK, folder, path));
}

// MARK: What files show

static void show(struct stat *status) {
  for (size_t i = 0; i < shown_count; i++) {
    if (shown[i].inode != status->st_ino) continue;
    status->st_ino = shown[i].shown_inode;
    if (shown[i].changed == nanoseconds(status->st_ctim)) {
      status->st_ctim.tv_sec = shown[i].shown_changed / 1000000000;
      status->st_ctim.tv_nsec = shown[i].shown_changed % 1000000000;
    }
    return;
  }
}

#define STAT_CALL(name, kind, parameters, arguments) \
  int name parameters { \
    REAL(name); \
    int result = real arguments; \
    if (result == 0) show((struct stat *)status); \
    return result; \
  }

STAT_CALL(stat, stat, (const char *a, struct stat *status), (a, status))
STAT_CALL(lstat, stat, (const char *a, struct stat *status), (a, status))
STAT_CALL(fstat, stat, (int a, struct stat *status), (a, status))
STAT_CALL(fstatat, stat, (int f, const char *a, struct stat *status, int g), (f, a, status, g))
STAT_CALL(stat64, stat64, (const char *a, struct stat64 *status), (a, status))
STAT_CALL(lstat64, stat64, (const char *a, struct stat64 *status), (a, status))
STAT_CALL(fstat64, stat64, (int a, struct stat64 *status), (a, status))
STAT_CALL(fstatat64, stat64, (int f, const char *a, struct stat64 *status, int g),
  (f, a, status, g))
