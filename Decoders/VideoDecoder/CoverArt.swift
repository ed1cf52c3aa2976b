import CLibAV
import PictureDecoding

/// A picture attached to a sound file or film.
struct CoverArt {
  private let stream: UnsafeMutablePointer<AVStream>

  /// Returns the front cover, or otherwise the first picture.
  static func best(in input: MediaInput) -> CoverArt? {
    let pictures = input.streams.filter { stream in
      let size = Int(stream.pointee.attached_pic.size)
      return stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
        && stream.pointee.attached_pic.data != nil && (1...MediaLimits.coverBytes).contains(size)
    }
    // ID3v2 and FLAC number the kinds of pictures; libav writes their names as comments.
    let front = pictures.first {
      ContainerTags.text("comment", in: $0.pointee.metadata) == frontComment
    }
    // Matroska has small and wide variants of it; source: RFC 9559, section 21.1.
    let main = pictures.first {
      ContainerTags.text("filename", in: $0.pointee.metadata)?.hasPrefix("cover.") ?? false
    }
    return (front ?? main ?? pictures.first).map(CoverArt.init)
  }

  private static let frontComment = "Cover (front)"

  private init(_ stream: UnsafeMutablePointer<AVStream>) { self.stream = stream }

  var size: Int { Int(stream.pointee.attached_pic.size) }

  /// The picture as it is in the file.
  ///
  /// - Throws: `DecoderError` of code `undecodable` if libvips does not read its kind.
  func picture() throws(DecoderError) -> DecodedPicture {
    let attached = stream.pointee.attached_pic
    guard let data = attached.data else {
      throw DecoderError(.undecodable, "The cover is empty")
    }
    let bytes = Array(UnsafeBufferPointer(start: data, count: size))
    guard Self.signatures.contains(where: { bytes.starts(with: $0) }) || Self.isWebP(bytes) else {
      throw DecoderError(.undecodable, "The cover is of a kind that is not decoded")
    }
    var picture = DecodedPicture(.encoded(bytes))
    picture.orientation = nil
    picture.isPreview = true
    return picture
  }

  /// JPEG, PNG, GIF and TIFF.
  private static let signatures: [[UInt8]] = [
    [0xFF, 0xD8, 0xFF], [0x89, 0x50, 0x4E, 0x47], Array("GIF8".utf8), Array("II*\0".utf8),
    Array("MM\0*".utf8),
  ]

  private static func isWebP(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: Array("RIFF".utf8)) && bytes.dropFirst(8).starts(with: Array("WEBP".utf8))
  }
}
