internal import CSandbox
package import Files
import Glibc
import PipelineModel

/// The questions of a worker's processes whether they may make a thread or a process.
///
/// The kernel holds who asks until it is answered. That bounds what looks come too late for, and
/// holds for root as well, whom RLIMIT_NPROC does not bound. Source: seccomp_unotify(2).
package final class ForkQuestions: Sendable {
  /// What is asked for.
  package enum Kind: Sendable { case thread, process }

  /// What is to be polled: the worker's word, and then its questions.
  package let descriptor: Descriptor

  /// The number of the descriptor by which a worker sends where its questions arrive.
  package static let workerNumber: Int32 = 3

  private init(_ descriptor: Descriptor) { self.descriptor = descriptor }

  /// Makes a stream by which a worker will send where its questions arrive. Source: socketpair(2).
  ///
  /// - Returns: also the worker's end, to be let go of once it has been started.
  package static func make() throws(SandboxError) -> (ForkQuestions, workerEnd: Descriptor) {
    var ends: [Int32] = [-1, -1]
    try systemCall("make a stream for a worker") { pipeline_socket_pair(&ends) }
    let all = ends.map { Descriptor(takingOver: $0, path: "a worker's stream") }
    return (ForkQuestions(all[0]), all[1])
  }

  /// What a worker says of its questions.
  package enum Word {
    case listener(ForkQuestions)
    /// Its machine, or a filter that it is in already, does not let it ask.
    case refused
  }

  /// What a worker writes that can't ask; a byte of 0 carries where the questions arrive.
  static let refusal: UInt8 = 1

  /// Takes what the worker sent; `nil` if it ended without a word, or if it can't be taken.
  package func takeWord() -> Word? {
    var byte: UInt8 = 0
    guard recv(descriptor.number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 1
    else { return nil }
    if byte == Self.refusal { return .refused }
    let number = pipeline_receive_descriptor(descriptor.number)
    guard number >= 0 else { return nil }
    return .listener(ForkQuestions(Descriptor(takingOver: number, path: "a worker's questions")))
  }

  /// Answers a question; returns at once if there is none any more.
  ///
  /// - Parameter allows: whether what is asked for may be made.
  package func answer(_ allows: (Kind) -> Bool) {
    var question = pipeline_fork_question()
    guard pipeline_next_question(descriptor.number, &question) == 0 else { return }
    let kind: Kind = pipeline_asks_for_thread(&question) != 0 ? .thread : .process
    // Who asked may be gone by now.
    _ = pipeline_answer(descriptor.number, &question, allows(kind) ? 0 : EAGAIN)
  }

  /// Has this process ask from now on, and says so to the program that started it.
  ///
  /// - Parameter number: the descriptor that the program is spoken to by; closed here.
  static func begin(by number: Int32) {
    let stream = Descriptor(takingOver: number, path: "the program's stream")
    guard let listener = SystemCallFilter.askBeforeForking() else {
      // A program that is gone needs not be told.
      _ = try? stream.write([refusal])
      return
    }
    _ = pipeline_send_descriptor(stream.number, listener.number)
  }
}
