// libseccomp, and the system calls of Landlock and capabilities(7), for which the C library has no
// functions.

#ifndef PIPELINE_SANDBOX_SHIM_H
#define PIPELINE_SANDBOX_SHIM_H

// Without _GNU_SOURCE: with it, <sys/types.h>, which <seccomp.h> needs, has a different `fd_set`
// than Swift's Glibc module, and Clang rejects two.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// landlock(7). Numbers and structures are spelled out, because distributions' headers are older
// than the kernels that the program meets.
struct pipeline_landlock_ruleset {
  uint64_t files;   // since ABI 1
  uint64_t network; // since ABI 4
  uint64_t scopes;  // since ABI 6
};

struct __attribute__((packed)) pipeline_landlock_path {
  uint64_t allowed;
  int32_t descriptor;
};

// The kernel's ABI version, or -1.
static inline int pipeline_landlock_abi(void) {
  return (int)syscall(444, NULL, (size_t)0, 1U);
}

// A kernel accepts a structure longer than its own if the rest is zero.
static inline int pipeline_landlock_create(const struct pipeline_landlock_ruleset *ruleset) {
  return (int)syscall(444, ruleset, sizeof *ruleset, 0U);
}

static inline int pipeline_landlock_add(int ruleset, int descriptor, uint64_t allowed) {
  struct pipeline_landlock_path path = {allowed, descriptor};
  return (int)syscall(445, ruleset, 1, &path, 0U);
}

static inline int pipeline_landlock_restrict(int ruleset) {
  return (int)syscall(446, ruleset, 0U);
}

// prctl(2) is variadic.
static inline int pipeline_no_new_privileges(void) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
}

// Whether the kernel can answer a system call with an error. Source: seccomp(2).
static inline int pipeline_seccomp_available(void) {
  uint32_t action = SCMP_ACT_ERRNO(0);
  return syscall(SYS_seccomp, 2U, 0U, &action) == 0;
}

// Whether the kernel supports asking before a system call continues: everything needed since 5.5,
// this query since 5.0. Source: seccomp(2).
static inline int pipeline_questions_available(void) {
  struct seccomp_notif_sizes sizes;
  return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0U, &sizes) == 0
      && sizes.seccomp_notif <= 1024 && sizes.seccomp_notif_resp <= 1024;
}

// Drops all capabilities except `kept`, for this process and its children. Does not call capset(2)
// if there is nothing to drop, because a service's own system call filter may refuse it.
static inline int pipeline_keep_capabilities(uint64_t kept) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, data) < 0) return -1;
  uint32_t lost = 0;
  for (int index = 0; index < _LINUX_CAPABILITY_U32S_3; index += 1) {
    uint32_t mask = (uint32_t)(kept >> (32 * index));
    lost |= (data[index].permitted & ~mask) | data[index].inheritable;
    data[index].permitted &= mask;
    data[index].effective &= data[index].permitted;
    data[index].inheritable = 0;
  }
  if (lost == 0) return 0;
  return (int)syscall(SYS_capset, &header, data);
}

// close_range(2) is newer than some C libraries.
static inline int pipeline_close_on_exec_from(unsigned int first) {
  return (int)syscall(436, first, ~0U, 4U);
}

// execveat(2) of an open file, with AT_EMPTY_PATH; `path` is empty.
static inline int pipeline_execute(
    int descriptor, const char *path, char *const arguments[], char *const environment[]) {
  return (int)syscall(SYS_execveat, descriptor, path, arguments, environment, 0x1000);
}

// A descriptor in a message, and a byte to carry it. Source: unix(7), cmsg(3).
struct pipeline_descriptor_message {
  char byte;
  struct iovec bytes;
  struct msghdr head;
  union {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
};

static inline void pipeline_prepare(struct pipeline_descriptor_message *message) {
  memset(message, 0, sizeof *message);
  message->bytes = (struct iovec){&message->byte, 1};
  message->head.msg_iov = &message->bytes;
  message->head.msg_iovlen = 1;
  message->head.msg_control = message->control.space;
  message->head.msg_controllen = sizeof message->control.space;
}

static inline int pipeline_send_descriptor(int socket, int descriptor) {
  struct pipeline_descriptor_message message;
  pipeline_prepare(&message);
  message.control.head.cmsg_len = CMSG_LEN(sizeof(int));
  message.control.head.cmsg_level = SOL_SOCKET;
  message.control.head.cmsg_type = SCM_RIGHTS;
  memcpy(CMSG_DATA(&message.control.head), &descriptor, sizeof descriptor);
  return (int)sendmsg(socket, &message.head, MSG_NOSIGNAL);
}

// Returns -1 if none was sent.
static inline int pipeline_receive_descriptor(int socket) {
  struct pipeline_descriptor_message message;
  pipeline_prepare(&message);
  if (recvmsg(socket, &message.head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return -1;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message.head);
  if (head == NULL || head->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor;
  memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
  return descriptor;
}

// Both ends are close-on-exec. Source: socketpair(2).
static inline int pipeline_socket_pair(int ends[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

// A request to fork. Source: seccomp_unotify(2). A kernel's structures may be longer than the
// headers', and it requires zeroed memory.
struct pipeline_fork_question {
  union {
    struct seccomp_notif question;
    char space[1024];
  } content;
};

static inline int pipeline_next_question(int listener, struct pipeline_fork_question *question) {
  memset(question, 0, sizeof *question);
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, question);
}

// Whether the request is for a thread rather than a process: the flags are the first argument of
// clone(2); fork(2) and vfork(2) have none.
static inline int pipeline_asks_for_thread(const struct pipeline_fork_question *question) {
  return question->content.question.data.nr == SYS_clone
      && (question->content.question.data.args[0] & CLONE_THREAD) != 0;
}

// Lets the call continue, or fails it with an error number. The flags are in a register, so the
// kernel continues with what was checked.
static inline int pipeline_answer(
    int listener, const struct pipeline_fork_question *question, int error) {
  union {
    struct seccomp_notif_resp answer;
    char space[1024];
  } content;
  memset(&content, 0, sizeof content);
  content.answer.id = question->content.question.id;
  content.answer.error = -error;
  content.answer.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &content);
}

// mount_namespaces(7), user_namespaces(7). By number: the flags of unshare(2) need _GNU_SOURCE, and
// the calls on mount descriptors are newer than some C libraries.
enum {
  pipeline_new_mounts = 0x00020000, // CLONE_NEWNS
  pipeline_new_user = 0x10000000,   // CLONE_NEWUSER
};

static inline int pipeline_unshare(int flags) { return (int)syscall(SYS_unshare, flags); }

// Mounts made here propagate nowhere; unmounts elsewhere take effect here.
static inline int pipeline_mounts_follow(void) {
  const unsigned long recursive = 0x4000, slave = 0x80000;
  return (int)syscall(SYS_mount, NULL, "/", NULL, recursive | slave, NULL);
}

static inline int pipeline_mount_memory(const char *path) {
  const unsigned long nosuid = 2, nodev = 4;
  return (int)syscall(SYS_mount, "pipeline", path, "tmpfs", nosuid | nodev, "mode=755,size=1m");
}

// Returns a detached copy of the mounts at and below a path; does not follow links. Source:
// open_tree(2).
static inline int pipeline_copy_tree(const char *path) {
  const unsigned int clone = 1, recursive = 0x8000, nofollow = 0x100;
  return (int)syscall(428, -100, path, clone | recursive | nofollow | O_CLOEXEC);
}

// Source: move_mount(2).
static inline int pipeline_attach_tree(int tree, int place) {
  const unsigned int from_empty = 0x4, to_empty = 0x40;
  return (int)syscall(429, tree, "", place, "", from_empty | to_empty);
}

// Makes a mount read-only and, if asked, those below it. Since Linux 5.12; source:
// mount_setattr(2).
static inline int pipeline_mount_read_only(int mount, int is_recursive) {
  const unsigned int empty = 0x1000, recursive = 0x8000;
  struct { uint64_t set, cleared, propagation, user; } attributes = {1, 0, 0, 0};
  return (int)syscall(
      442, mount, "", empty | (is_recursive ? recursive : 0), &attributes, sizeof attributes);
}

// Source: umount2(2), with MNT_DETACH.
static inline int pipeline_unmount(const char *path) {
  return (int)syscall(SYS_umount2, path, 2);
}

// Makes the working folder the root, and detaches the old one. Source: pivot_root(2).
static inline int pipeline_become_root(void) {
  if (syscall(SYS_pivot_root, ".", ".") < 0) return -1;
  return pipeline_unmount(".");
}

static inline int pipeline_write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = write(file, text, strlen(text));
  close(file);
  return count < 0 ? -1 : 0;
}

// Tries everything that `PrivateRoot` needs, in a process of its own. Returns 0 or the error
// number.
static inline int pipeline_make_root(const char *user_map, const char *group_map) {
  if (user_map != NULL
      && (pipeline_write_text("/proc/self/setgroups", "deny") < 0
          || pipeline_write_text("/proc/self/uid_map", user_map) < 0
          || pipeline_write_text("/proc/self/gid_map", group_map) < 0)) return errno;
  int tree = pipeline_mounts_follow() < 0 ? -1 : pipeline_copy_tree("/proc");
  if (tree < 0 || pipeline_mount_read_only(tree, 1) < 0 || pipeline_mount_memory("/proc") < 0
      || chdir("/proc") < 0 || mkdir("proc", 0755) < 0) return errno;
  int place = open("proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place < 0 || pipeline_attach_tree(tree, place) < 0 || pipeline_become_root() < 0) return errno;
  return 0;
}

// Tries whether a process can get a private root; returns 0 or the error number. The child shares
// no memory and makes only system calls, so other threads don't matter.
static inline int pipeline_try_root(
    int flags, const char *user_map, const char *group_map) {
  const int wait_for_all = 0x40000000; // __WALL: it sends no signal when it ends
  long child = syscall(SYS_clone, (long)flags, 0L, 0L, 0L, 0L);
  if (child < 0) return errno;
  if (child == 0) syscall(SYS_exit_group, pipeline_make_root(user_map, group_map));
  int status = 0;
  while (syscall(SYS_wait4, child, &status, wait_for_all, NULL) < 0) {
    if (errno != EINTR) return errno;
  }
  // A system call filter that kills the caller is a refusal, too.
  return (status & 0x7f) == 0 ? (status >> 8) & 0xff : EPERM;
}

// Whether the process has a capability. Source: capget(2).
static inline int pipeline_has_capability(int number) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, data) < 0) return 0;
  return (data[number / 32].effective >> (number % 32)) & 1;
}

// Values that <fcntl.h> and <sys/mman.h> define only with _GNU_SOURCE, and macros that Swift can't
// evaluate.
enum {
  pipeline_open_path = 0x200000,
  pipeline_map_fixed = 0x100000,
  pipeline_capability_read_search = CAP_DAC_READ_SEARCH,
  pipeline_capability_administer = CAP_SYS_ADMIN
};
static const uint64_t pipeline_set_flags = FS_IOC_SETFLAGS;
static const uint64_t pipeline_set_attributes = FS_IOC_FSSETXATTR;

#endif
