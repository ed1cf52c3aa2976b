import Dispatch
import Files

/// Tells on a queue that a descriptor can be read, or written to.
///
/// The descriptor is kept open until the source is cancelled for good.
final class DescriptorSource: @unchecked Sendable {
  // @unchecked because Dispatch documents its sources as safe to use from any thread.
  private let source: any DispatchSourceProtocol
  private let descriptor: Descriptor

  /// Tells whenever there is something to read, or the end is reached.
  static func reading(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> DescriptorSource {
    DescriptorSource(
      DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue), descriptor,
      body)
  }

  /// Tells whenever there is room to write.
  static func writing(
    _ descriptor: Descriptor, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> DescriptorSource {
    DescriptorSource(
      DispatchSource.makeWriteSource(fileDescriptor: descriptor.number, queue: queue), descriptor,
      body)
  }

  private init(
    _ source: any DispatchSourceProtocol, _ descriptor: Descriptor,
    _ body: @escaping @Sendable () -> Void
  ) {
    self.source = source
    self.descriptor = descriptor
    source.setEventHandler(handler: body)
    // Keeps the descriptor open as long as the kernel is asked about it.
    source.setCancelHandler { [descriptor] in withExtendedLifetime(descriptor) {} }
    source.resume()
  }

  deinit { source.cancel() }

  /// Tells no more.
  func cancel() { source.cancel() }
}
