import Files
import Synchronization

/// The connections to one server that are free, each kept open for the next request.
final class HTTPConnections: Sendable {
  private let free = Mutex<[HTTPTransfer]>([])

  func perform(
    _ request: HTTPRequest,
    receive: HTTPTransfer.Receiver? = nil, isStopped: @escaping () -> Bool
  ) throws(HTTPTransfer.Failure) -> HTTPResponse {
    let transfer: HTTPTransfer
    if let kept = free.withLock({ $0.popLast() }) {
      transfer = kept
    } else {
      do throws(FileError) { transfer = try HTTPTransfer() } catch { throw .local(error) }
    }
    defer { free.withLock { $0.append(transfer) } }
    return try transfer.perform(request, receive: receive, isStopped: isStopped)
  }
}
