internal import CSandbox
package import Files
import Glibc
import PipelineModel

/// Requests by a worker's processes to create a thread or a process.
///
/// The kernel blocks the caller until there is an answer. That enforces limits that sampling would
/// notice too late, and binds root as well, whom RLIMIT_NPROC does not. Source: seccomp_unotify(2).
package final class ForkRequests: Sendable {
  /// What a process asks to create.
  package enum Kind: Sendable { case thread, process }

  /// The descriptor to poll: first for the worker's word, then for its requests.
  package let descriptor: Descriptor

  /// The number of the descriptor through which a worker sends its listener.
  package static let workerNumber: Int32 = 3

  private init(_ descriptor: Descriptor) { self.descriptor = descriptor }

  /// Creates a stream through which a worker will send its listener. Source: socketpair(2).
  ///
  /// - Returns: also the worker's end; release it once the worker has started.
  package static func make() throws(SandboxError) -> (ForkRequests, workerEnd: Descriptor) {
    var ends: [Int32] = [-1, -1]
    try systemCall("make a stream for a worker") { pipeline_socket_pair(&ends) }
    let all = ends.map { Descriptor(takingOver: $0, path: "a worker's stream") }
    return (ForkRequests(all[0]), all[1])
  }

  /// A worker's message about its requests.
  package enum Message {
    case listener(ForkRequests)
    /// The machine, or an existing filter, does not let the worker ask.
    case refused
  }

  /// The byte that a worker sends if it can't ask; a 0 byte carries the listener.
  static let refusal: UInt8 = 1

  /// Receives the worker's word; `nil` if it ended without one, or receiving failed.
  package func receiveMessage() -> Message? {
    var byte: UInt8 = 0
    guard recv(descriptor.number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 1
    else { return nil }
    if byte == Self.refusal { return .refused }
    let number = pipeline_receive_descriptor(descriptor.number)
    guard number >= 0 else { return nil }
    return .listener(ForkRequests(Descriptor(takingOver: number, path: "a worker's questions")))
  }

  /// Answers a request; returns at once if there is none left.
  ///
  /// - Parameter allows: whether the thread or process may be created.
  package func answer(_ allows: (Kind) -> Bool) {
    var question = pipeline_fork_question()
    guard pipeline_next_question(descriptor.number, &question) == 0 else { return }
    let kind: Kind = pipeline_asks_for_thread(&question) != 0 ? .thread : .process
    // The asking process may be gone by now.
    _ = pipeline_answer(descriptor.number, &question, allows(kind) ? 0 : EAGAIN)
  }

  /// Makes this process ask from now on, and reports that to the program that started it.
  ///
  /// - Parameter number: the descriptor of the stream to that program; closed here.
  static func begin(by number: Int32) {
    let stream = Descriptor(takingOver: number, path: "the program's stream")
    guard let listener = SystemCallFilter.askBeforeForking() else {
      // If the program is gone, nobody needs to know.
      _ = try? stream.write([refusal])
      return
    }
    _ = pipeline_send_descriptor(stream.number, listener.number)
  }
}
