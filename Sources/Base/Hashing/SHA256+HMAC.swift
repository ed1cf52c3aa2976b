import CCrypto
public import PipelineModel

extension SHA256 {
  /// Returns the message authentication code of a message, HMAC-SHA-256.
  ///
  /// Source: RFC 2104; HMAC(3ssl).
  public static func authenticationCode(of message: [UInt8], key: [UInt8]) -> Digest {
    var code = [UInt8](repeating: 0, count: 32)
    HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, nil)
    guard let digest = Digest(bytes: code) else {
      preconditionFailure("The buffer above has 32 bytes.")
    }
    return digest
  }
}
