/// System call names by treatment; see syscalls(2).
///
/// Lists the calls of all architectures; names that one lacks are skipped.
enum SystemCalls {
  /// Calls that can do no harm outside, whatever their arguments.
  static let harmless: [String] = bytes + names + memory + waiting + itself

  /// Open files: Landlock and the open mode have already decided what is possible.
  private static let bytes = [
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
    "pwritev2", "lseek", "_llseek", "sendfile", "sendfile64", "copy_file_range", "splice", "tee",
    "readahead", "fadvise64", "fadvise64_64", "ftruncate", "ftruncate64",
    "fsync", "fdatasync", "sync_file_range", "flock", "close", "dup",
    "dup2", "dup3", "pipe", "pipe2",
  ]

  /// Names: outside places are hidden or read-only.
  private static let names = [
    "creat", "access", "faccessat", "faccessat2", "stat", "stat64", "lstat", "lstat64", "fstat",
    "fstat64", "newfstatat", "fstatat64", "statx", "statfs", "statfs64", "fstatfs",
    "fstatfs64", "readlink", "readlinkat", "getcwd", "chdir", "fchdir", "getdents",
    "getdents64", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
    "renameat2", "umask", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr",
    "flistxattr",
  ]

  private static let memory = [
    "brk", "munmap", "mprotect", "mremap", "madvise", "msync", "mincore",
    "mlock", "mlock2", "munlock", "membarrier", "pkey_alloc", "pkey_free", "pkey_mprotect",
  ]

  private static let waiting = [
    "poll", "ppoll", "select", "_newselect", "pselect6", "epoll_create", "epoll_create1",
    "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2", "signalfd",
    "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime", "nanosleep",
    "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times",
    "alarm", "getitimer", "setitimer", "timer_create", "timer_settime", "timer_gettime",
    "timer_getoverrun", "timer_delete", "futex", "futex_waitv", "pause", "restart_syscall",
    "rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_sigreturn", "sigreturn", "sigaltstack", "wait4", "waitid",
  ]

  private static let itself = [
    "exit", "exit_group", "getpid", "getppid", "gettid", "getpgid", "getpgrp", "getsid",
    "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "capget",
    "getrusage", "getrlimit", "ugetrlimit", "getpriority", "ioprio_get", "getcpu", "getrandom",
    "uname", "sysinfo", "sched_yield", "sched_getaffinity", "sched_getparam",
    "sched_getscheduler", "sched_getattr", "sched_get_priority_max", "sched_get_priority_min",
    "sched_rr_get_interval", "set_tid_address", "set_robust_list", "get_robust_list", "rseq",
    "arch_prctl", "set_thread_area", "get_thread_area",
  ]

  /// Calls that Landlock does not cover in all versions: they change a file that is only readable
  /// here, or create names that lead outside.
  static let ofMetadata = [
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "chown32", "fchown", "fchown32",
    "lchown", "lchown32", "fchownat", "truncate", "truncate64", "setxattr", "lsetxattr",
    "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
    "utime", "utimes", "utimensat", "utimensat_time64", "futimesat", "link", "linkat",
    "symlink", "symlinkat", "mknod", "mknodat", "file_setattr",
  ]

  /// Calls that some file systems lack, so programs cope without them. fallocate(2) takes space
  /// faster than sampling notices and, beyond the end of a file, without counting towards file size
  /// limits.
  static let unsupported = ["fallocate"]

  /// Network connections.
  static let ofNetwork = ofConnecting + ["accept", "accept4", "sendto", "sendmsg"]

  /// Network connections, but for accepting them.
  static let ofConnecting = ["bind", "connect", "listen", "sendmmsg", "recvmmsg"]

  /// Operations on a socket that somebody else has opened.
  static let ofSockets = [
    "recvfrom", "recvmsg", "shutdown", "getsockname", "getpeername", "getsockopt",
  ]

  /// Calls that reach other processes, the system or privileges.
  static let ofSystem = [
    // Other processes.
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "pidfd_getfd", "pidfd_send_signal", "kcmp", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "setsid", "setpgid", "setpriority", "ioprio_set", "move_pages", "migrate_pages",
    // Memory in a pipe, which sampling sees in no process.
    "vmsplice",
    // Other users, and other views of the system.
    "setuid", "setuid32", "setgid", "setgid32", "setreuid", "setreuid32", "setregid",
    "setregid32", "setresuid", "setresuid32", "setresgid", "setresgid32", "setfsuid",
    "setfsuid32", "setfsgid", "setfsgid32", "setgroups", "setgroups32", "capset", "unshare",
    "setns", "chroot", "pivot_root", "mount", "umount", "umount2", "mount_setattr",
    "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "open_by_handle_at",
    // The system.
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "syslog",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "sethostname", "setdomainname",
    "settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "adjtimex",
    "iopl", "ioperm", "modify_ldt", "vhangup", "setrlimit", "fanotify_init", "fanotify_mark",
  ]
}
