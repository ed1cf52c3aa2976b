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
    let opaque = format == .jpeg && picture.hasAlpha ? try picture.flattened() : picture
    let profile = try profileToEmbed(opaque)
    let clean = try opaque.editingMetadata { editor in
      let kept = options.strip ? [] : opaque.fields
      for field in opaque.fields where !kept.contains(field) { editor.remove(field) }
      for field in Self.ofFrames { editor.remove(field) }
      // An embedded preview would show the picture before it was turned.
      editor.remove(Picture.Field.preview)
      if options.transform { editor.markUpright() }
      editor.remove(Picture.Field.profile)
      if let profile { editor.set(Picture.Field.profile, profile) }
    }
    // Chroma subsampling smears details of one pixel, as in icons.
    let isTiny = max(picture.width, picture.height) <= Self.tiny
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
