import CCrypto
public import PipelineModel

/// A running SHA-256 by libcrypto, which uses the processor's own instructions.
///
/// Source: EVP_DigestInit(3ssl).
public final class SHA256 {
  private let context: OpaquePointer
  /// Fetched once: `EVP_sha256` looks for it at each beginning, under locks.
  // Unsafe only in name, because the algorithm is immutable and is never freed.
  private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

  /// Begins a digest.
  public init() {
    guard let context = EVP_MD_CTX_new() else {
      preconditionFailure("Only a lack of memory fails this, where Swift itself would trap.")
    }
    self.context = context
    EVP_DigestInit_ex(context, Self.algorithm, nil)
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
    guard let digest = Digest(bytes: bytes) else {
      preconditionFailure("The buffer above has 32 bytes.")
    }
    return digest
  }

  /// Returns the SHA-256 of some bytes.
  public static func digest(of bytes: some Collection<UInt8>) -> Digest {
    let hash = SHA256()
    hash.update(bytes)
    return hash.finalize()
  }
}
