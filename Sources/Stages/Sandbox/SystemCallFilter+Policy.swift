internal import CSandbox
import Glibc

/// The execve calls that a program may make.
enum Execution {
  case none, any
  /// Once, with exactly these addresses, which nobody can know afterwards.
  case once(path: UInt64, arguments: UInt64, environment: UInt64)
}

extension SystemCallFilter {
  /// Creates a policy's filter.
  ///
  /// - Parameter keepsSignals: whether the kernel confines signals to the sandbox.
  static func make(
    _ policy: SandboxPolicy, execution: Execution, keepsSignals: Bool
  ) throws(SandboxError) -> SystemCallFilter {
    let filter = try SystemCallFilter()
    try filter.allow(SystemCalls.harmless)
    try filter.refuse(SystemCalls.ofMetadata + SystemCalls.ofSystem)
    try filter.decline(SystemCalls.unsupported)
    try filter.addMemory()
    try filter.addOpening()
    try filter.addCommands()
    try filter.addSockets(network: policy.network, serves: policy.serves)
    if policy.serves { try filter.addServing() }
    try filter.addProcesses(forks: policy.processes || policy.exec)
    try filter.addExecution(execution)
    let signalsOthers = keepsSignals && (policy.processes || policy.exec)
    try filter.addSignals(toOthers: signalsOthers)
    return filter
  }

  /// Shared anonymous memory can be hidden from usage sampling: it persists when the process
  /// releases its pages. Memory that grows downwards counts as stack, which the memory limit does
  /// not bound.
  private func addMemory() throws(SandboxError) {
    let (shared, anonymous) = (UInt64(MAP_SHARED), UInt64(MAP_ANONYMOUS))
    let grows: UInt64 = 0x100  // MAP_GROWSDOWN, which <sys/mman.h> has under _GNU_SOURCE only.
    for value in [0, shared, anonymous] {
      try allow(["mmap", "mmap2"], when: .bits(3, shared | anonymous | grows, equal: value))
    }
    try refuse(["mmap", "mmap2"], when: .bits(3, shared | anonymous, equal: shared | anonymous))
    try refuse(["mmap", "mmap2"], when: .bits(3, grows, equal: grows))
  }

  /// Opening for reading must not truncate: the kernel would truncate any file that the user may
  /// write, and Landlock covers truncation only since version 3.
  private func addOpening() throws(SandboxError) {
    let mode = UInt64(O_ACCMODE)
    let cut = UInt64(O_TRUNC)
    for (name, flags) in [("open", UInt32(1)), ("openat", 2)] {
      try allow([name], when: .bits(flags, cut, equal: 0))
      for value in [O_WRONLY, O_RDWR] {
        try allow([name], when: .bits(flags, cut | mode, equal: cut | UInt64(value)))
      }
      // Access mode 3 means neither reading nor writing. Source: open(2).
      for value in [O_RDONLY, O_ACCMODE] {
        try refuse([name], when: .bits(flags, cut | mode, equal: cut | UInt64(value)))
      }
    }
  }

  /// Allows operations on open files and on the process itself one by one.
  private func addCommands() throws(SandboxError) {
    // Queries about terminals and pipes.
    let commands = [
      TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX,
    ]
    for command in commands { try allow(["ioctl"], when: .equals(1, UInt64(command))) }
    // These can set attributes such as “immutable” through a read-only descriptor.
    for command in [pipeline_set_flags, pipeline_set_attributes, UInt64(TIOCSTI)] {
      try refuse(["ioctl"], when: .equals(1, command))
    }
    // Numbers that <fcntl.h> defines only with _GNU_SOURCE: locks of open files (36 to 38),
    // F_DUPFD_CLOEXEC, pipe size, seals.
    let operations = [
      F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_GETOWN, 36, 37,
      38, 1030, 1032, 1033, 1034,
    ]
    for operation in operations {
      try allow(["fcntl", "fcntl64"], when: .equals(1, UInt64(operation)))
    }
    // F_SETPIPE_SZ: data in pipes counts for no process.
    try refuse(["fcntl", "fcntl64"], when: .equals(1, 1031))
    // F_SETOWN, F_SETSIG and F_SETOWN_EX make a descriptor send any signal to any process; leases
    // and directory notifications send signals, too.
    for operation: UInt64 in [8, 10, 15, 1024, 1026] {
      try refuse(["fcntl", "fcntl64"], when: .equals(1, operation))
    }
    // Left out: clearing the parent-death signal (1), and becoming dumpable, hence open to others
    // (4).
    let questions = [
      PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP,
      PR_CAPBSET_READ, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_SET_NO_NEW_PRIVS,
      PR_GET_NO_NEW_PRIVS, PR_GET_THP_DISABLE, PR_SET_VMA,
    ]
    for question in questions { try allow(["prctl"], when: .equals(0, UInt64(question))) }
    for question in [PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_PTRACER] {
      try refuse(["prctl"], when: .equals(0, UInt64(question)))
    }
    for value: UInt64 in [0, 0xFFFF_FFFF] {
      try allow(["personality"], when: .equals(0, value))
    }
  }

  /// Socket pairs are as harmless as pipes; other sockets lead outside.
  private func addSockets(network: Bool, serves: Bool) throws(SandboxError) {
    let unix = UInt64(AF_UNIX)
    // Streams only: a datagram can be addressed to any socket.
    try allow(["socketpair"], when: .equals(0, unix), .bits(1, 0xF, equal: 1))
    try refuse(["socketpair"], when: .differs(0, from: unix))
    try allow(SystemCalls.ofSockets)
    try addSocketOptions(network: network)
    guard network else {
      try refuse(["socket"] + (serves ? SystemCalls.ofConnecting : SystemCalls.ofNetwork))
      return
    }
    for family in [AF_INET, AF_INET6] { try allow(["socket"], when: .equals(0, UInt64(family))) }
    // The C library queries the machine's addresses through NETLINK_ROUTE.
    try allow(["socket"], when: .equals(0, UInt64(AF_NETLINK)), .equals(2, 0))
    try refuse(["socket"], when: .equals(0, unix))
    try allow(SystemCalls.ofNetwork)
  }

  /// Accepting, and sending to who has connected. An address given with a message must be none, so
  /// that nothing is sent elsewhere; for `sendmsg`, which hides it in memory, there is no socket that
  /// would take one: all are connected streams.
  private func addServing() throws(SandboxError) {
    try allow(["accept", "accept4"])
    let int: UInt64 = 0xFFFF_FFFF
    // It would connect a socket that listens no more. Source: linux/socket.h.
    let fastOpen: UInt64 = 0x2000_0000
    try allow(["sendmsg"], when: .bits(2, fastOpen, equal: 0))
    try refuse(["sendmsg"], when: .bits(2, fastOpen, equal: fastOpen))
    try allow(["sendto"], when: .equals(4, 0), .bits(3, fastOpen, equal: 0))
    try refuse(["sendto"], when: .differs(4, from: 0))
    try refuse(["sendto"], when: .bits(3, fastOpen, equal: fastOpen))
    // Whether to wait for more before a packet is sent.
    for option in [TCP_NODELAY, TCP_CORK] {
      try allow(
        ["setsockopt"], when: .bits(1, int, equal: UInt64(IPPROTO_TCP)),
        .bits(2, int, equal: UInt64(option)))
    }
  }

  /// Allows options one by one: data in sockets counts for no process, so buffers must not grow.
  /// Source: socket(7), and asm-generic/socket.h for the numbers.
  private func addSocketOptions(network: Bool) throws(SandboxError) {
    let level = UInt64(SOL_SOCKET)
    let harmless = [
      SO_REUSEADDR, SO_TYPE, SO_ERROR, SO_DONTROUTE, SO_BROADCAST, SO_KEEPALIVE, SO_OOBINLINE,
      SO_PRIORITY, SO_LINGER, SO_REUSEPORT, SO_PASSCRED, SO_RCVLOWAT, SO_SNDLOWAT, SO_RCVTIMEO,
      SO_SNDTIMEO, SO_TIMESTAMP,
    ]
    let int: UInt64 = 0xFFFF_FFFF
    for option in harmless {
      try allow(
        ["setsockopt"], when: .bits(1, int, equal: level), .bits(2, int, equal: UInt64(option)))
    }
    for option in [SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE] {
      try refuse(
        ["setsockopt"], when: .bits(1, int, equal: level), .bits(2, int, equal: UInt64(option)))
    }
    guard network else { return }
    // 270 is SOL_NETLINK, with which the C library queries the machine's addresses.
    for level in [IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6, 270] {
      try allow(["setsockopt"], when: .bits(1, int, equal: UInt64(level)))
    }
  }

  private func addProcesses(forks: Bool) throws(SandboxError) {
    let thread = UInt64(CLONE_THREAD)
    // New namespaces, a sibling instead of a child, or a traced child.
    let refused = [
      CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID,
      CLONE_NEWNET, CLONE_PARENT, CLONE_PTRACE,
    ].map { UInt64($0) }
    let mask = refused.reduce(UInt64(0), |)
    for bit in refused { try refuse(["clone"], when: .bits(0, bit, equal: bit)) }
    // CLOSE_RANGE_UNSHARE creates a separate table of open files.
    let unshare: UInt64 = 2
    try allow(["close_range"], when: .bits(2, unshare, equal: 0))
    try refuse(["close_range"], when: .bits(2, unshare, equal: unshare))
    // Threads must share open files, so that sampling one thread covers all.
    let files = UInt64(CLONE_FILES)
    try allow(["clone"], when: .bits(0, mask | thread | files, equal: thread | files))
    if forks {
      try allow(["clone"], when: .bits(0, mask | thread, equal: 0))
      try allow(["fork", "vfork", "pidfd_open"])
    } else {
      try refuse(["clone"], when: .bits(0, thread, equal: 0))
      try refuse(["fork", "vfork", "pidfd_open"])
    }
  }

  private func addExecution(_ execution: Execution) throws(SandboxError) {
    switch execution {
    case .any:
      try allow(["execve", "execveat"])
    case .none:
      try refuse(["execve", "execveat"])
    case .once(let path, let arguments, let environment):
      try allow(
        ["execveat"], when: .equals(1, path), .equals(2, arguments), .equals(3, environment))
      // One rule each, because a rule requires all of its conditions.
      try refuse(["execveat"], when: .differs(1, from: path))
      try refuse(["execveat"], when: .differs(2, from: arguments))
      try refuse(["execveat"], when: .differs(3, from: environment))
      try refuse(["execve"])
    }
  }

  /// Signals reach the process itself and, on newer kernels, what it has started.
  private func addSignals(toOthers: Bool) throws(SandboxError) {
    if toOthers {
      try allow(["kill", "tkill", "tgkill"])
    } else {
      let process = UInt64(getpid())
      try allow(["kill", "tkill", "tgkill"], when: .equals(0, process))
      try refuse(["kill", "tkill", "tgkill"], when: .differs(0, from: process))
    }
    let own = ["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"]
    try allow(own, when: .equals(0, 0))
    try refuse(own, when: .differs(0, from: 0))
    // Limits may be read but not set: a privileged process could raise its own.
    try allow(["prlimit64"], when: .equals(0, 0), .equals(2, 0))
    try refuse(["prlimit64"], when: .differs(0, from: 0))
    try refuse(["prlimit64"], when: .differs(2, from: 0))
  }
}
