import CMicroHTTPD
import LibrarySession
import PipelineModel

/// A request on its way, and its answer.
///
/// `@unchecked Sendable` because only the thread of its connection uses it, except for `answer`, which
/// is called while the connection is suspended.
final class Exchange: @unchecked Sendable {
  let connection: OpaquePointer
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

  init(connection: OpaquePointer, target: [UInt8]) {
    self.connection = connection
    self.target = target
  }

  /// Lets a suspended connection go on with an answer.
  func answer(_ response: Response) {
    self.response = response
    MHD_resume_connection(connection)
  }
}
