import CCrypto
public import PipelineModel

/// An incremental SHA-256 by libcrypto, which uses the processor's SHA instructions.
///
/// Source: EVP_DigestInit(3ssl).
public final class SHA256 {
  private let context: OpaquePointer
  /// Fetched once, because `EVP_sha256` looks the algorithm up under locks for each digest.
  // `nonisolated(unsafe)` because the algorithm is immutable and never freed.
  private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

  /// Begins a digest.
  public init() {
    guard let context = EVP_MD_CTX_new() else {
      preconditionFailure("This fails only without memory, where Swift itself traps.")
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

  /// Returns the digest; add nothing afterwards.
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
