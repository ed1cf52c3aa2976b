import CSandbox
import FoundationEssentials
import Glibc
import PipelineModel
import Sandbox

typealias SystemCall = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int

/// Makes calls, and remembers what they returned.
struct Caller {
  let call: SystemCall
  var outcomes: [ProbeRequest.Outcome] = []

  /// Makes a system call; a child that it makes ends at once.
  mutating func make(_ wanted: ProbeRequest.Call) {
    if wanted.name == "thread" { return outcomes.append(startThread()) }
    let number = wanted.number ?? Int(seccomp_syscall_resolve_name(wanted.name))
    var words = wanted.arguments.map(word)
    words += Array(repeating: 0, count: 6 - words.count)
    let isFork = ["fork", "vfork", "clone"].contains(wanted.name)
    let result = call(number, words[0], words[1], words[2], words[3], words[4], words[5])
    let code = errno
    if isFork, result == 0 { _exit(0) }
    outcomes.append(.init(result: result, error: result < 0 ? code : 0))
  }

  /// The memory of an argument stays until the process ends.
  private func word(_ argument: ProbeRequest.Call.Argument) -> Int {
    switch argument {
    case .number(let number): return number
    case .path(let path): return address(of: path.bytes + [0])
    case .bytes(let data): return address(of: Array(data))
    case .list(let texts):
      let addresses = texts.map { address(of: Array($0.utf8) + [0]) } + [0]
      return address(of: addresses.withUnsafeBytes { Array($0) })
    case .result(let index): return outcomes[index].result
    }
  }

  private func address(of bytes: [UInt8]) -> Int {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    memory.copyBytes(from: bytes)
    return Int(bitPattern: memory.baseAddress)
  }

  private func startThread() -> ProbeRequest.Outcome {
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, { _ in nil }, nil)
    if code == 0 { pthread_join(thread, nil) }
    return .init(result: code == 0 ? 0 : -1, error: code)
  }
}

/// Writes a line, and ends with 3, which no attempt does.
func fail(_ message: String) -> Never {
  print(message)
  exit(3)
}

/// Starts a thread that does nothing. Not in the code above functions, which belongs to
/// the main thread and ends the program if another one enters it.
nonisolated func startWaitingThread() {
  var thread = pthread_t()
  pthread_create(
    &thread, nil,
    { _ in
      pause()
      return nil
    }, nil)
}

guard CommandLine.arguments.count == 2, let symbol = dlsym(nil, "syscall") else {
  fail("The only argument is a request in JSON.")
}
let request = try JSONDecoder().decode(
  ProbeRequest.self, from: Data(CommandLine.arguments[1].utf8))
if request.startsThread { startWaitingThread() }
var caller = Caller(call: unsafeBitCast(symbol, to: SystemCall.self))
for call in request.before { caller.make(call) }
do throws(SandboxError) {
  try request.limits?.apply()
  if let program = request.program, let policy = request.policy {
    try Sandbox.execute(
      program[0], arguments: Array(program.dropFirst()),
      environment: [("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin")], policy: policy)
  }
  if let policy = request.policy { try Sandbox.enter(policy) }
} catch {
  fail(error.message)
}
for call in request.within { caller.make(call) }
let answer = try JSONEncoder().encode(caller.outcomes)
print(String(decoding: answer, as: UTF8.self))
