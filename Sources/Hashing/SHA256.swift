import CCrypto
public import PipelineModel

/// A running SHA-256 by libcrypto, which uses the processor's own instructions.
///
/// Source: EVP_DigestInit(3ssl).
public final class SHA256 {
  private let context: OpaquePointer

  /// Begins a digest.
  public init() {
    // EVP_MD_CTX_new fails only without memory, where Swift itself would trap.
    // swift-format-ignore: NeverForceUnwrap
    context = EVP_MD_CTX_new()!
    EVP_DigestInit_ex(context, EVP_sha256(), nil)
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Adds bytes.
  public func update(_ bytes: UnsafeRawBufferPointer) {
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// Adds bytes.
  public func update(_ bytes: some Collection<UInt8>) {
    if bytes.withContiguousStorageIfAvailable({ update(UnsafeRawBufferPointer($0)) }) == nil {
      Array(bytes).withUnsafeBytes { update($0) }
    }
  }

  /// Ends the digest; nothing may be added afterwards.
  public func finalize() -> Digest {
    var bytes = [UInt8](repeating: 0, count: 32)
    EVP_DigestFinal_ex(context, &bytes, nil)
    // Thirty-two bytes by construction.
    // swift-format-ignore: NeverForceUnwrap
    return Digest(bytes: bytes)!
  }

  /// Returns the SHA-256 of some bytes.
  public static func digest(of bytes: some Collection<UInt8>) -> Digest {
    let hash = SHA256()
    hash.update(bytes)
    return hash.finalize()
  }
}
