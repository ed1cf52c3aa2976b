package import PipelineModel

/// What the process that answers HTTP is told at its start, as the first line of its channel.
package struct WebLaunch: Codable, Sendable {
  /// The library's folder, and that of its catalog.
  package var library: BytePath
  package var catalogFolder: BytePath
  /// The location of the database that has the catalog instead of a file.
  package var database: String?
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
  /// What is shown to nobody.
  package var hidden: [HiddenFact]
  /// What the renditions of the configured stages show.
  package var renditions: ConfiguredRenditions
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

/// Something that `serve --hide` names.
package enum HiddenFact: String, Codable, CaseIterable, Sendable {
  /// Where pictures were taken.
  case gps
}
