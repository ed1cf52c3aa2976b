package import PipelineModel

/// What the process that answers HTTP is told at its start, as the first line of its channel.
package struct WebLaunch: Codable, Sendable {
  /// The library's folder, and that of its catalog.
  package var library: BytePath
  package var catalogFolder: BytePath
  /// Whether the catalog is read without locks, because its folder can't be written.
  package var isImmutable: Bool
  /// The folders of the configured sources.
  package var sources: [BytePath]
  /// The space that is always left free, in bytes.
  package var reserve: Int
  /// The names that `Host` may have, in lower case and without a port.
  package var hosts: [String]
  /// The path that a proxy serves the page under; begins and ends with a slash.
  package var base: String
  /// Whether the proxy speaks TLS.
  package var isSecure: Bool
  /// What a client has to know; `nil` if nothing.
  package var token: String?
  /// The changes that pages may make.
  package var allowed: [WebChange]
  /// The most pixels of a side of a picture on demand.
  package var maxPixelSize: Int

  /// The descriptors of its listening socket and of its channel.
  package static let listener: Int32 = 3
  package static let channel: Int32 = 4
}

/// A kind of change that `serve --allow` names.
package enum WebChange: String, Codable, CaseIterable, Sendable {
  case tag, trash, retry
}

/// The first line that the process answers: it is ready, or why it is not.
package struct WebReadiness: Codable, Sendable {
  package var error: String?

  package init(error: String? = nil) { self.error = error }
}
