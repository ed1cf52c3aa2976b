// Kernel interfaces missing from Swift's Glibc module: fixed-arity forms of variadic calls, and
// constants that are macros with casts.

#ifndef PIPELINE_LINUX_SHIM_H
#define PIPELINE_LINUX_SHIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

// openat(2) is variadic: it takes the mode only with O_CREAT.
static inline int pipeline_openat(int folder, const char *path, int flags, mode_t mode) {
  return openat(folder, path, flags, mode);
}

// O_PATH needs _GNU_SOURCE. It opens a location in the file system, not its content.
enum { pipeline_open_place = O_PATH };

// fcntl(2) is variadic.
static inline int pipeline_fcntl(int descriptor, int command, int argument) {
  return fcntl(descriptor, command, argument);
}

// fcntl(2) is variadic, and these locks need _GNU_SOURCE. One byte of a file is locked, for as long as
// the file stays open.
static inline int pipeline_lock_byte(int descriptor, long long byte, int waits) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  return fcntl(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
}

// ioctl(2) is variadic, and Swift can't evaluate the FICLONE macro.
static inline int pipeline_clone(int destination, int source) {
  return ioctl(destination, FICLONE, source);
}

// Lease commands need _GNU_SOURCE, which Swift's own import may lack.
enum {
  pipeline_set_lease = F_SETLEASE,
  pipeline_get_lease = F_GETLEASE,
  pipeline_read_lease = F_RDLCK,
  pipeline_no_lease = F_UNLCK
};

// renameat2(2) and its flag need _GNU_SOURCE.
static inline int pipeline_rename_without_replacing(
    int old_folder, const char *old_path, int new_folder, const char *new_path) {
  return renameat2(old_folder, old_path, new_folder, new_path, RENAME_NOREPLACE);
}

// The flags of sync_file_range(2) need _GNU_SOURCE. Starts writing a file's pages without waiting,
// so that the fsyncs of many files overlap.
static inline int pipeline_start_writing(int descriptor) {
  return sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
}

// Writes all of a file's pages, waits for them and reports errors: with all three flags, as
// fsync(2) does before it writes the metadata.
static inline int pipeline_write_pages(int descriptor) {
  return sync_file_range(
      descriptor, 0, 0,
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

// fcntl(2) is variadic, and O_DIRECT needs _GNU_SOURCE.
static inline int pipeline_set_direct(int descriptor, int is_direct) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return flags;
  return fcntl(descriptor, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

// syncfs(2) needs _GNU_SOURCE.
static inline int pipeline_sync_file_system(int descriptor) { return syncfs(descriptor); }

// accept4(2) needs _GNU_SOURCE. Called by number, because <sys/socket.h> with _GNU_SOURCE defines
// another `fd_set` than Swift's Glibc module, and Clang rejects two.
static inline int pipeline_accept(int descriptor) {
  return (int)syscall(SYS_accept4, descriptor, NULL, NULL, O_CLOEXEC);
}

// `struct ucred` of unix(7) also needs _GNU_SOURCE.
struct pipeline_peer {
  int process;
  unsigned int user, group;
};

// pidfd_open(2) has no declaration in the glibc 2.36 headers that Swift sees. The descriptor polls
// as readable once the process has ended. Always close-on-exec.
static inline int pipeline_open_process(int process) {
  return (int)syscall(SYS_pidfd_open, process, 0);
}

// epoll(7), by number: <sys/epoll.h> with _GNU_SOURCE defines another `fd_set` than Swift's Glibc
// module, and Clang rejects two. The kernel packs the struct on x86-64 only, to match its 32-bit
// layout. Source: linux/eventpoll.h.
struct pipeline_epoll_event {
  unsigned int events;
  unsigned long long name;
}
#ifdef __x86_64__
__attribute__((packed))
#endif
;

enum {
  pipeline_epoll_add = 1,
  pipeline_epoll_remove = 2,
  pipeline_epoll_change = 3,
  // EPOLLIN and EPOLLOUT, each with EPOLLONESHOT.
  pipeline_epoll_read = 0x001 | 1 << 30,
  pipeline_epoll_write = 0x004 | 1 << 30
};

static inline int pipeline_epoll_make(void) {
  return (int)syscall(SYS_epoll_create1, O_CLOEXEC);
}

static inline int pipeline_epoll_control(
    int epoll, int operation, int descriptor, unsigned int events, unsigned long long name) {
  struct pipeline_epoll_event event = { .events = events, .name = name };
  return (int)syscall(SYS_epoll_ctl, epoll, operation, descriptor, &event);
}

static inline int pipeline_epoll_wait(int epoll, unsigned long long *names, int count) {
  struct pipeline_epoll_event events[64];
  int found = (int)syscall(
      SYS_epoll_pwait, epoll, events, count < 64 ? count : 64, -1, NULL, 0);
  for (int index = 0; index < found; index++) names[index] = events[index].name;
  return found;
}

// environ(7), which in Swift is a variable that anybody could change.
static inline char **pipeline_environment(void) { return environ; }

// prctl(2) is variadic.
static inline int pipeline_end_with_parent(int signal) {
  return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
}

// prctl(2) is variadic.
static inline int pipeline_adopt_orphans(void) {
  return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

// waitid(2), by number: <signal.h> under _GNU_SOURCE would belong to another module than Swift's
// Glibc. Finds a child of a group that has ended, without reaping it. The process ID follows three
// numbers and the padding that aligns a pointer.
//
// Returns 0 if none has ended, a negative number if there is none.
static inline int pipeline_ended_of_group(int group) {
  union { int numbers[32]; void *alignment; } info = {{0}};
  const int of_group = 2, nohang = 1, exited = 4, nowait = 0x01000000;
  if (syscall(SYS_waitid, of_group, group, &info, nohang | exited | nowait, NULL) < 0) return -1;
  return info.numbers[sizeof(void *) == 8 ? 4 : 3];
}

// statfs(2): Swift can't tell the struct from the function of the same name.
static inline int pipeline_statfs(int descriptor, struct statfs *result) {
  return fstatfs(descriptor, result);
}

// fgetxattr(2), declared by no header that Swift imports.
static inline long pipeline_get_attribute(
    int descriptor, const char *name, void *value, size_t size) {
  return syscall(SYS_fgetxattr, descriptor, name, value, size);
}

// getxattr(2), likewise.
static inline long pipeline_get_attribute_of_path(
    const char *path, const char *name, void *value, size_t size) {
  return syscall(SYS_getxattr, path, name, value, size);
}

/// The number of columns of a terminal; 0 if it is none.
static inline int pipeline_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

#endif
