import Vips

/// Encodes a small picture as a file.
struct ThumbnailEncoder {
  let format: ThumbnailOptions.Format
  let quality: Int
  let options: ThumbnailOptions

  var fileExtension: String {
    switch format {
    case .jpeg: "jpg"
    case .webp: "webp"
    case .png: "png"
    case .avif: "avif"
    }
  }

  var mediaType: String { "image/\(format.rawValue)" }

  func encode(_ picture: Picture) throws(VipsError) -> [UInt8] {
    try encode(picture, frames: nil)
  }

  /// Encodes all frames; the format is one that has several.
  func encode(_ animation: Animation) throws(VipsError) -> [UInt8] {
    try encode(animation.strip, frames: animation)
  }

  private func encode(_ picture: Picture, frames: Animation?) throws(VipsError) -> [UInt8] {
    let opaque = format == .jpeg && picture.hasAlpha ? try picture.flattened() : picture
    let profile = try profileToEmbed(opaque)
    let clean = try opaque.editingMetadata { editor in
      let kept = options.strip ? [] : opaque.fields
      for field in opaque.fields where !kept.contains(field) { editor.remove(field) }
      for field in Self.ofFrames { editor.remove(field) }
      if let frames {
        editor.set("page-height", frames.frameHeight)
        editor.set("delay", frames.delays)
        editor.set("loop", frames.loops)
      }
      // An embedded preview would show the picture before it was turned.
      editor.remove(Picture.Field.preview)
      if options.transform { editor.markUpright() }
      editor.remove(Picture.Field.profile)
      if let profile { editor.set(Picture.Field.profile, profile) }
    }
    // Chroma subsampling smears details of one pixel, as in icons.
    let isTiny = max(picture.width, frames?.frameHeight ?? picture.height) <= Self.tiny
    let chroma = isTiny ? ",subsample_mode=off" : ""
    switch format {
    case .jpeg:
      guard options.strip else { return try clean.encoded(as: ".jpg[Q=\(quality)\(chroma)]") }
      // Without `strip` libvips writes an EXIF block of its own; with it, it drops the profile.
      let bytes = try clean.encoded(as: ".jpg[Q=\(quality)\(chroma),strip]")
      return profile.map { JPEGProfile.insert($0, into: bytes) } ?? bytes
    case .webp:
      // WebP always subsamples chroma, but can do so with care.
      let bytes = try clean.encoded(as: ".webp[Q=\(quality)\(isTiny ? ",smart_subsample" : "")]")
      return options.strip ? WebPMetadata.remove(from: bytes) : bytes
    case .png:
      return try clean.encoded(as: ".png")
    case .avif:
      // `strip` would drop the profile; without it, there is a block that contains only sizes.
      let strip = options.strip && profile == nil ? ",strip" : ""
      return try clean.encoded(as: ".avif[Q=\(quality)\(chroma)\(strip)]")
    }
  }

  /// The longer side, in pixels, up to which a thumbnail keeps full chroma.
  private static let tiny = 48

  /// Loaders' metadata about pages and frames; a thumbnail has only one.
  private static let ofFrames = [
    "n-pages", "page-height", "delay", "loop", "gif-delay", "gif-loop", "background",
    "heif-primary",
  ]

  /// The profile that the colours require; sRGB is assumed everywhere.
  private func profileToEmbed(_ picture: Picture) throws(VipsError) -> [UInt8]? {
    switch options.colorSpace {
    case .srgb: nil
    case .p3: try builtInProfile("p3")
    case .keep: picture.blob(Picture.Field.profile)
    }
  }
}

/// An ICC profile in a JPEG file.
///
/// Source: ICC.1:2022, annex B.4: application segments of type 2, numbered from 1.
enum JPEGProfile {
  private static let signature = Array("ICC_PROFILE\0".utf8)
  /// A segment's capacity without its length, signature, number and count.
  private static let chunk = 65535 - 2 - 14

  /// Inserts a profile after the start of image and the JFIF segment.
  static func insert(_ profile: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    let count = (profile.count + chunk - 1) / chunk
    guard count > 0, count < 256, jpeg.starts(with: [0xFF, 0xD8]) else { return jpeg }
    var position = 2
    if jpeg.count > 6, jpeg[2] == 0xFF, jpeg[3] == 0xE0 {
      position = 4 + Int(jpeg[4]) << 8 + Int(jpeg[5])
    }
    guard position <= jpeg.count else { return jpeg }
    var result = Array(jpeg[..<position])
    for index in 0..<count {
      let part = profile[(index * chunk)..<min((index + 1) * chunk, profile.count)]
      let length = part.count + 16
      result += [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 255)]
      result += signature + [UInt8(index + 1), UInt8(count)] + part
    }
    return result + jpeg[position...]
  }
}

/// Metadata in a WebP file.
///
/// Source: WebP Container Specification, “Extended File Format”.
enum WebPMetadata {
  private static let exifFlag: UInt8 = 0x08
  private static let xmpFlag: UInt8 = 0x04

  /// Removes EXIF and XMP, which libvips 8.14 writes even when asked to strip.
  static func remove(from webp: [UInt8]) -> [UInt8] {
    guard webp.count >= 12, webp.starts(with: Array("RIFF".utf8)) else { return webp }
    var result = Array(webp[..<12])
    var at = 12
    while at + 8 <= webp.count {
      let size = webp[(at + 4)..<(at + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
      // Chunks are padded to an even length.
      let end = min(at + 8 + size + size % 2, webp.count)
      let name = String(decoding: webp[at..<(at + 4)], as: UTF8.self)
      if name != "EXIF" && name != "XMP " {
        let start = result.count
        result += webp[at..<end]
        if name == "VP8X", result.count > start + 8 {
          result[start + 8] &= ~(exifFlag | xmpFlag)
        }
      }
      at = end
    }
    let length = UInt32(result.count - 8)
    for index in 0..<4 { result[4 + index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
    return result
  }
}
