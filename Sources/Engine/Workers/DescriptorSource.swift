import Dispatch
import Files

/// Tells on a queue that a descriptor can be read, or written to, until its body has enough.
///
/// Nobody else can end it. Dispatch on Linux may be about to deliver an event of a
/// source that another thread cancels, and then touches freed memory (seen with the
/// pipes of a worker that ended, which all have an event at once). While its own
/// body runs, a source is disarmed and has none.
final class DescriptorSource: @unchecked Sendable {
  // @unchecked because Dispatch documents its sources as safe to use from any thread.
  private let source: any DispatchSourceProtocol
  private let descriptor: Descriptor

  /// Tells whenever there is something to read, or the end is reached.
  ///
  /// - Parameter body: returns whether it is to be told again.
  static func read(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Bool
  ) {
    DescriptorSource(
      DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue), descriptor
    ).begin(body)
  }

  /// Tells whenever there is room to write, or nobody reads any more.
  ///
  /// - Parameter body: returns whether it is to be told again.
  static func write(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Bool
  ) {
    DescriptorSource(
      DispatchSource.makeWriteSource(fileDescriptor: descriptor.number, queue: queue), descriptor
    ).begin(body)
  }

  private init(_ source: any DispatchSourceProtocol, _ descriptor: Descriptor) {
    self.source = source
    self.descriptor = descriptor
  }

  /// Source and handler keep each other, and the descriptor, until the end.
  private func begin(_ body: @escaping @Sendable () -> Bool) {
    source.setEventHandler { [self] in
      if !body() { source.cancel() }
    }
    // Closed only now may the number be given to another file.
    source.setCancelHandler { [descriptor] in withExtendedLifetime(descriptor) {} }
    source.resume()
  }
}
