import Compression
import Hashing
import PipelineModel

/// A tag that tells answers with other bytes apart. Source: RFC 9110, section 8.8.3.
enum ContentTag {
  static func of(_ bytes: [UInt8]) -> String { "\"\(SHA256.digest(of: bytes).hex.prefix(24))\"" }

  static func gzip(_ bytes: [UInt8]) -> [UInt8]? { Zlib.gzip(bytes) }
}
