import Hashing
import PipelineModel

/// A picture that was made because somebody asked for it, with what is known about it.
package struct CachedPicture: Hashable, Sendable {
  /// What is known about a picture, as in the first lines of its file.
  struct Header: Hashable, Codable {
    /// The name of its file, so that a renamed one is not taken for another picture.
    var name: String
    var mediaType: String
    var width: Int
    var height: Int
    var maker: String
    var damage: String?
  }

  package var bytes: [UInt8]
  package var mediaType: String
  /// Pixels.
  package var width: Int
  /// Pixels.
  package var height: Int
  /// The fingerprint of the plugin that made it, and of its options.
  package var maker: String
  /// What is wrong with the original's data, as a sentence; `nil` for nothing.
  package var damage: String?

  package init(
    bytes: [UInt8], mediaType: String, width: Int, height: Int, maker: String,
    damage: String? = nil
  ) {
    self.bytes = bytes
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.maker = maker
    self.damage = damage
  }

  /// The content of its file: the SHA-256 of what follows, a line of JSON, and the picture.
  func fileContent(for key: PictureKey) throws -> [UInt8] {
    let header = Header(
      name: key.fileName.description, mediaType: mediaType, width: width, height: height,
      maker: maker, damage: damage)
    let rest = Array(try JSONText.encode(header).utf8) + [UInt8(ascii: "\n")] + bytes
    return Array(SHA256.digest(of: rest).hex.utf8) + [UInt8(ascii: "\n")] + rest
  }

  /// Reads a file's content; `nil` unless it is whole and that of this key.
  init?(fileContent content: [UInt8], for key: PictureKey) {
    let newline = UInt8(ascii: "\n")
    guard let first = content.firstIndex(of: newline),
      let digest = Digest(String(decoding: content[..<first], as: UTF8.self)),
      SHA256.digest(of: Array(content[(first + 1)...])) == digest,
      let second = content[(first + 1)...].firstIndex(of: newline),
      // What can't be decoded is another version's, so it is made anew.
      let header = try? JSONText.decode(Header.self, from: content[(first + 1)..<second]),
      header.name == key.fileName.description
    else { return nil }
    self.init(
      bytes: Array(content[(second + 1)...]), mediaType: header.mediaType, width: header.width,
      height: header.height, maker: header.maker, damage: header.damage)
  }
}
