import PipelineModel

/// A test file for a plugin.
struct CheckSample {
  /// The name in reports.
  let name: String
  let path: BytePath
  let bytes: [UInt8]
  /// The facts that `identify` finds.
  var facts: JSONValue = [:]

  var mediaType: MediaType {
    facts["mediaType"]?.string.map { MediaType(rawValue: $0) } ?? .unknown
  }

  /// One small picture in common formats, and a text; each is less than 2 KiB.
  static let builtIn: [(name: String, bytes: [UInt8])] = [
    ("picture.jpg", BuiltInSamples.jpeg), ("picture.png", BuiltInSamples.png),
    ("picture.gif", BuiltInSamples.gif), ("picture.bmp", BuiltInSamples.bmp),
    ("picture.webp", BuiltInSamples.webp), ("picture.tiff", BuiltInSamples.tiff),
    ("text.txt", PackageResources.text_txt),
  ]

  /// Variants such as bad disks and attackers produce.
  var damaged: [(name: String, bytes: [UInt8])] {
    let half = bytes.count / 2
    var random = SeededBytes()
    var found = [
      ("an empty \(name)", []), ("the first byte of \(name)", Array(bytes.prefix(1))),
      ("the first half of \(name)", Array(bytes.prefix(half))),
      ("\(name) without its last byte", Array(bytes.dropLast())),
      ("\(name) with a zeroed second half", bytes.prefix(half) + Array(repeating: 0, count: half)),
      ("\(name) with random bytes after its start", bytes.prefix(32) + random.next(1024)),
      ("random bytes instead of \(name)", random.next(1024)),
    ]
    for number in 1...8 where !bytes.isEmpty {
      var changed = bytes
      for _ in 0..<4 { changed[random.number(below: changed.count)] = random.next(1)[0] }
      found.append(("\(name) with 4 changed bytes (\(number))", changed))
    }
    return found
  }
}

/// A fixed sequence, so that failures are reproducible. Source: xorshift64.
private struct SeededBytes {
  private var state: UInt64 = 0x5EED

  mutating func next(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(step() >> 56) } }

  mutating func number(below limit: Int) -> Int { Int(step() % UInt64(limit)) }

  private mutating func step() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}

/// Small files of many kinds, each below 6 KiB, built into the program.
package enum BuiltInSamples {
  /// A picture of 24 by 16 pixels in each format.
  package static let jpeg = PackageResources.picture_jpg
  package static let png = PackageResources.picture_png
  package static let gif = PackageResources.picture_gif
  package static let bmp = PackageResources.picture_bmp
  package static let webp = PackageResources.picture_webp
  package static let tiff = PackageResources.picture_tiff
  package static let heic = PackageResources.picture_heic
  package static let avif = PackageResources.picture_avif
  package static let jpeg2000 = PackageResources.picture_jp2
  package static let jpegXL = PackageResources.picture_jxl
  package static let ppm = PackageResources.picture_ppm
  package static let radiance = PackageResources.picture_hdr
  package static let openEXR = PackageResources.picture_exr
  package static let fits = PackageResources.picture_fits
  package static let ico = PackageResources.picture_ico
  package static let pcx = PackageResources.picture_pcx
  package static let tga = PackageResources.picture_tga
  package static let psd = PackageResources.picture_psd
  /// A page and a drawing, 24 units wide and 16 high.
  package static let pdf = PackageResources.picture_pdf
  package static let svg = PackageResources.picture_svg
  /// The picture as a camera's sensor of 48 by 32 values saw it.
  package static let dng = PackageResources.picture_dng
  /// Two frames of the picture, in H.264 and VP9.
  package static let mp4 = PackageResources.picture_mp4
  package static let webm = PackageResources.picture_webm
  /// A JPEG that its EXIF orientation turns, and the same picture stored upright.
  package static let turnedJPEG = PackageResources.turned_jpg
  package static let uprightJPEG = PackageResources.upright_jpg
}
