/// A digest of everything but the input bytes that determines a stage's output.
///
/// A job done under one fingerprint need not be repeated under the same one.
public struct Fingerprint: Hashable, Sendable {
  /// A SHA-256 of plugin, output version, options and needed stages.
  public let digest: Digest

  /// Creates a fingerprint from its digest.
  public init(_ digest: Digest) { self.digest = digest }

  /// The first sixteen digits: enough to distinguish the renditions of one original.
  public var short: String { String(digest.hex.prefix(16)) }
}
