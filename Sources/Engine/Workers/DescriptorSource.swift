import Dispatch
import Files

/// Tells on a queue that a descriptor can be read, or written to, until it is cancelled.
///
/// What is watched must not hang up meanwhile: Dispatch on Linux then strikes the
/// descriptor off its books on the queue's thread while its own thread is at them, and
/// touches freed memory (swift-corelibs-libdispatch, issue 949). So the other end of a
/// pipe is kept open for as long, and a process is reaped only after the last event.
final class DescriptorSource: @unchecked Sendable {
  // @unchecked because Dispatch documents its sources as safe to use from any thread.
  private let source: any DispatchSourceProtocol

  /// Tells whenever there is something to read.
  ///
  /// - Parameters:
  ///   - other: the other end of the pipe; `nil` for what is no pipe.
  ///   - onEnd: called on the queue once nothing more is told, and the kernel not asked any more.
  ///   - body: returns whether it is to be told again.
  static func reading(
    _ descriptor: Descriptor, keeping other: Descriptor?, on queue: DispatchQueue,
    onEnd: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable () -> Bool
  ) -> DescriptorSource {
    DescriptorSource(
      DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue),
      keeping: [descriptor, other].compactMap(\.self), onEnd, body)
  }

  /// Tells whenever there is room to write.
  static func writing(
    _ descriptor: Descriptor, keeping other: Descriptor, on queue: DispatchQueue,
    _ body: @escaping @Sendable () -> Bool
  ) -> DescriptorSource {
    DescriptorSource(
      DispatchSource.makeWriteSource(fileDescriptor: descriptor.number, queue: queue),
      keeping: [descriptor, other], {}, body)
  }

  private init(
    _ source: any DispatchSourceProtocol, keeping descriptors: [Descriptor],
    _ onEnd: @escaping @Sendable () -> Void, _ body: @escaping @Sendable () -> Bool
  ) {
    self.source = source
    // The handler keeps the source until it is cancelled, which lets go of the handler.
    source.setEventHandler {
      if !body() { source.cancel() }
    }
    source.setCancelHandler {
      // Closed only now may their numbers be given to other files.
      withExtendedLifetime(descriptors) {}
      onEnd()
    }
    source.resume()
  }

  /// Tells no more.
  func cancel() { source.cancel() }
}
