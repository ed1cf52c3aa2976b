import CMicroHTTPD
import LibrarySession
import PipelineModel

/// A request on its way, and its answer.
///
/// `@unchecked Sendable` because only the thread of its connection uses it, except for `answer`, which
/// is called while the connection is suspended.
final class Exchange: @unchecked Sendable {
  let connection: OpaquePointer
  private let connections: Connections
  let target: [UInt8]
  /// When the first line of the request had come.
  let start = ContinuousClock.now
  var method = ""
  var fields = RequestFields()
  /// Whether the headers were seen.
  var isBegun = false
  var body: [UInt8] = []
  /// The request, once it passed the first checks.
  var request: Request?
  /// The answer, once there is one.
  var response: Response?

  init(connection: OpaquePointer, of connections: Connections, target: [UInt8]) {
    self.connection = connection
    self.connections = connections
    self.target = target
  }

  /// Has something done if the client goes away before it has its answer; that has to answer, too.
  func whenGone(_ action: @escaping @Sendable () -> Void) {
    connections.watch(connection, action)
  }

  /// Lets a suspended connection go on with an answer.
  func answer(_ response: Response) {
    self.response = response
    MHD_resume_connection(connection)
  }
}
