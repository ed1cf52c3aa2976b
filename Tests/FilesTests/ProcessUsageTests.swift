import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@testable import Files

@Suite("What processes use", .timeLimit(.minutes(1)))
struct ProcessUsageTests {
  /// Starts Python with some lines, and waits for it to print one.
  private func started(_ lines: String) throws -> (process: Process, line: String) {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = ["-c", lines]
    process.standardOutput = output
    process.standardInput = Pipe()
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    return (process, line)
  }

  @Test("A process whose first thread has ended is counted with memory, threads and processor")
  func leaderless() throws {
    let (process, _) = try started(
      """
      import ctypes, os, threading, time
      def work():
        while open(f"/proc/{os.getpid()}/stat").read().rsplit(")", 1)[1].split()[0] != "Z": pass
        memory = bytearray(64 << 20)
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        print("ready", flush=True)
        threading.Event().wait(50)
      threading.Thread(target=work).start()
      ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)
      """)
    let id = process.processIdentifier
    defer { kill(id, SIGKILL) }
    let usage = try #require(ProcessUsage.of(process: id))
    #expect(usage.processes == 1 && usage.threads >= 2)
    #expect(usage.memoryBytes > 64 << 20, "\(usage)")
    #expect(usage.processorSeconds >= 0.2, "\(usage)")
  }

  /// Says which child of it has ended and is not waited for.
  private static let parentOfEnded = """
    import os, sys
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    print(child, flush=True)
    sys.stdin.read()
    """

  @Test("A process that has ended and was not waited for uses nothing")
  func ended() throws {
    let (process, line) = try started(Self.parentOfEnded)
    defer { kill(process.processIdentifier, SIGKILL) }
    let child = try #require(Int32(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(ProcessStat(child)?.hasEnded == true)
    #expect(ProcessUsage.of(process: child) == nil)
  }

  @Test("A process is alive as long as one of its threads has not begun to end")
  func alive() throws {
    let (process, line) = try started(Self.parentOfEnded)
    defer { kill(process.processIdentifier, SIGKILL) }
    let ended = try #require(Int32(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(ProcessUsage.isAlive(process.processIdentifier))
    #expect(!ProcessUsage.isAlive(ended))
    #expect(ProcessUsage.of(process: process.processIdentifier)?.hidesMemory == false)
    // The state and the flags of the kernel, at the third and the ninth place.
    func alive(_ threads: (state: String, flags: Int)...) throws -> Bool {
      let folder = try TemporaryFolder()
      let tasks = folder.path.appending("7/task")
      for (number, thread) in threads.enumerated() {
        let path = "\(tasks)/\(7 + number)"
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true)
        let rest = String(repeating: " 1", count: 40)
        try "7 (a) b) \(thread.state) 1 7 7 0 -1 \(thread.flags)\(rest)".write(
          toFile: path + "/stat", atomically: false, encoding: .utf8)
      }
      return ProcessUsage.isAlive(7, in: folder.path)
    }
    #expect(try alive(("R", 0x400000)))
    #expect(try !alive(("R", 0x400004)))
    #expect(try !alive(("D", 0x40010C)))
    #expect(try alive(("Z", 0x40010C), ("S", 0x400000)))
    #expect(try !alive(("Z", 0x40010C), ("R", 0x400004)))
    #expect(try !alive())
  }

  @Test("Of a process that is alive and shows no memory it is known that it hides it")
  func hidden() throws {
    func usage(_ status: String, flags: Int = 0) throws -> ProcessUsage? {
      let folder = try TemporaryFolder()
      let rest = String(repeating: " 1", count: 40)
      for place in ["7", "7/task/7"] {
        let path = "\(folder.path)/\(place)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try "7 (a) S 1 7 7 0 -1 \(flags)\(rest)".write(
          toFile: path + "/stat", atomically: false, encoding: .utf8)
        try status.write(toFile: path + "/status", atomically: false, encoding: .utf8)
      }
      return ProcessUsage.of(process: 7, in: folder.path)
    }
    let told = try #require(try usage("Name:\ta\nRssAnon:\t  12 kB\nVmPTE:\t 4 kB\n"))
    #expect(told.memoryBytes == 16 << 10 && !told.hidesMemory)
    let none = try #require(try usage("Name:\ta\nThreads:\t1\n"))
    #expect(none.memoryBytes == 0 && none.hidesMemory)
    let ending = try #require(try usage("Name:\ta\nThreads:\t1\n", flags: 4))
    #expect(ending.memoryBytes == 0 && !ending.hidesMemory)
  }

  // MARK: Time

  private func stat(_ id: Int32, own: Double, children: Double = 0) -> ProcessStat {
    ProcessStat(id: id, group: 7, ownSeconds: own, childrenSeconds: children, start: 1)
  }

  private func seconds(_ looks: [[ProcessStat]], reaped: Double = 0) -> Double {
    var meter = ProcessGroupMeter(group: 7)
    var usage = ProcessUsage()
    for look in looks {
      usage = meter.count(look, reapedSeconds: look == looks.last ? reaped : 0)
    }
    return usage.processorSeconds
  }

  @Test("The time of a child that nobody waited for stays counted when it is gone")
  func unwaited() {
    let head = stat(7, own: 1)
    #expect(seconds([[head, stat(8, own: 2)], [head, stat(9, own: 3)], [head]]) == 6)
  }

  @Test("The time of a child that was waited for is counted once, also what was not seen of it")
  func waited() {
    let looks = [[stat(7, own: 1), stat(8, own: 2)], [stat(7, own: 1, children: 2.5)]]
    #expect(seconds(looks) == 3.5)
  }

  @Test("The time of what a process left behind is counted once, too")
  func left() {
    #expect(
      seconds([[stat(7, own: 1), stat(8, own: 2)], [stat(7, own: 1)]], reaped: 2.25) == 3.25)
  }

  // MARK: Files

  @Test("A file without a name counts as long as it is open, and as long as it is mapped")
  func nameless() throws {
    let folder = try TemporaryFolder()
    let place = try Descriptor.openFolder(folder.path)
    let device = try place.status().device
    func bytes() -> Int { UnlinkedFiles(of: [getpid()], on: device).bytes }
    let before = bytes()
    let size = 3 << 20
    var file: Descriptor? = try Descriptor.open(
      "gone", in: place, flags: O_RDWR | O_CREAT, mode: 0o600)
    try file?.write([UInt8](repeating: 7, count: size))
    #expect(bytes() - before < size)
    try place.remove("gone")
    #expect(bytes() - before >= size)
    let number = try #require(file?.number)
    let mapping = mmap(nil, size, PROT_READ, MAP_SHARED, number, 0)
    file = nil
    #expect(bytes() - before >= size)
    munmap(mapping, size)
    #expect(bytes() - before < size)
  }
}
