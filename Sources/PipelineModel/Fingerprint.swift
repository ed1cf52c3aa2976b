/// What a stage's output depends on besides the bytes, as one number.
///
/// A job done under one fingerprint need not be done again under the same one.
public struct Fingerprint: Hashable, Sendable {
  /// A SHA-256 over plugin, output version, options and needed stages.
  public let digest: Digest

  /// Makes a fingerprint from its digest.
  public init(_ digest: Digest) { self.digest = digest }

  /// The first sixteen digits: enough to tell the renditions of one original apart.
  public var short: String { String(digest.hex.prefix(16)) }
}
