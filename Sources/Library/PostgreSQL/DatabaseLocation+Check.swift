import CPostgreSQL
package import PipelineModel

extension DatabaseLocation {
  /// Why libpq can't read the URI; `nil` if it can, or is not installed. Nothing is connected to.
  ///
  /// Source: PQconninfoParse.
  package var fault: String? {
    guard let functions = try? PostgreSQLLibrary.shared().functions else { return nil }
    var message: UnsafeMutablePointer<CChar>?
    let options = functions.PQconninfoParse(uri, &message)
    defer {
      functions.PQconninfoFree(options)
      functions.PQfreemem(message)
    }
    guard options == nil else { return nil }
    let text = message.map { String(cString: $0) } ?? ""
    return PostgreSQLConnection.line(text)
  }
}
