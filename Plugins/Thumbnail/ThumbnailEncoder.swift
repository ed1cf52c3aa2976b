import Vips

/// From a small picture to a file's bytes.
struct ThumbnailEncoder {
  let format: ThumbnailOptions.Format
  let quality: Int
  let options: ThumbnailOptions

  /// The end of a file's name.
  var fileExtension: String {
    switch format {
    case .jpeg: "jpg"
    case .webp: "webp"
    case .png: "png"
    case .avif: "avif"
    }
  }

  /// The type that a rendition is said to have.
  var mediaType: String { "image/\(format.rawValue)" }

  /// Writes the picture.
  func encode(_ picture: Picture) throws(VipsError) -> [UInt8] {
    let opaque = format == .jpeg && picture.hasAlpha ? try picture.flattened() : picture
    let profile = try profileToEmbed(opaque)
    let clean = try opaque.editingMetadata { editor in
      let kept = options.strip ? [] : opaque.fields
      for field in opaque.fields where !kept.contains(field) { editor.remove(field) }
      for field in Self.ofFrames { editor.remove(field) }
      // A preview inside a thumbnail would show what the picture looked like before it was turned.
      editor.remove(Picture.Field.preview)
      if options.transform { editor.markUpright() }
      editor.remove(Picture.Field.profile)
      if let profile { editor.set(Picture.Field.profile, profile) }
    }
    // Half as many values of chroma smear what is as fine as a pixel, as in icons.
    let isTiny = max(picture.width, picture.height) <= Self.tiny
    let chroma = isTiny ? ",subsample_mode=off" : ""
    switch format {
    case .jpeg:
      guard options.strip else { return try clean.encoded(as: ".jpg[Q=\(quality)\(chroma)]") }
      // Without `strip` libvips writes an EXIF block of its own, with it it drops the profile.
      let bytes = try clean.encoded(as: ".jpg[Q=\(quality)\(chroma),strip]")
      return profile.map { JPEGProfile.insert($0, into: bytes) } ?? bytes
    case .webp:
      // WebP has no more values of chroma, but can choose them with care.
      let bytes = try clean.encoded(as: ".webp[Q=\(quality)\(isTiny ? ",smart_subsample" : "")]")
      return options.strip ? WebPMetadata.remove(from: bytes) : bytes
    case .png:
      return try clean.encoded(as: ".png")
    case .avif:
      // `strip` would drop the profile; without it there is a block with sizes and nothing else.
      let strip = options.strip && profile == nil ? ",strip" : ""
      return try clean.encoded(as: ".avif[Q=\(quality)\(chroma)\(strip)]")
    }
  }

  /// The longer side, in pixels, up to which a thumbnail keeps all of its chroma.
  private static let tiny = 48

  /// What loaders say of pages and frames, of which a thumbnail has one.
  private static let ofFrames = [
    "n-pages", "page-height", "delay", "loop", "gif-delay", "gif-loop", "background",
    "heif-primary",
  ]

  /// The profile that colours need to be shown right; sRGB is what everything assumes.
  private func profileToEmbed(_ picture: Picture) throws(VipsError) -> [UInt8]? {
    switch options.colorSpace {
    case .srgb: nil
    case .p3: try builtInProfile("p3")
    case .keep: picture.blob(Picture.Field.profile)
    }
  }
}
