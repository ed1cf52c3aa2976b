import CPostgreSQL
import Files
import Glibc
import PipelineModel

/// A request to the server to end the statement of a connection.
///
/// `PQcancel` connects, and waits for the server without a limit, so it runs on a thread of its own; libpq 17 could
/// do without. The request names only the connection, so nothing else may be sent there before it has arrived.
struct PostgreSQLCancellation {
  /// What libpq has of a request, which one thread at a time uses.
  private struct Request: @unchecked Sendable {
    // @unchecked because it belongs to the thread that sends it. Source: PQcancel.
    let handle: OpaquePointer
  }

  /// At its end once the server has the request, or can't get it.
  private let end: Descriptor

  /// Sends a request.
  ///
  /// - Returns: `nil` if there is no memory, descriptor or thread for it: the statement goes on.
  init?(_ handle: OpaquePointer, _ library: PostgreSQLLibrary) {
    let functions = library.functions
    guard let ends = try? PipeEnds("the end of a request to PostgreSQL"),
      let request = functions.PQgetCancel(handle).map(Request.init)
    else { return nil }
    let (reading, writing) = (ends.reading, ends.writing)
    do throws(FileError) {
      try DedicatedThread.start {
        // Closed with this thread's last use of it.
        withExtendedLifetime(writing) {
          var reason = [CChar](repeating: 0, count: 256)
          // What goes wrong is found by the connection, which waits for the end of the statement.
          _ = library.functions.PQcancel(request.handle, &reason, Int32(reason.count))
          library.functions.PQfreeCancel(request.handle)
        }
      }
    } catch {
      functions.PQfreeCancel(request.handle)
      return nil
    }
    end = reading
  }

  /// Whether it has arrived, or can't.
  var hasArrived: Bool { PostgreSQLWait().poll(end.number, Int16(POLLIN), step: 0) }

  /// Waits until the request has arrived, or can't.
  ///
  /// - Returns: `false` if the wait is over before.
  func hasArrived(within wait: PostgreSQLWait) -> Bool {
    while !wait.poll(end.number, Int16(POLLIN), step: 250) {
      if wait.isOver { return false }
    }
    return true
  }
}
