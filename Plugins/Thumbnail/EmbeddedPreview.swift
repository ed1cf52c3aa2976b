import Vips

/// The small JPEG that cameras embed in the EXIF block of a large one.
enum EmbeddedPreview {
  /// Decodes the preview if the options allow it and it can replace the picture.
  ///
  /// The preview must be at least as large as the largest size and match the picture's shape within
  /// 1 %, because cameras like to add black bars. The file around it must be whole, so that a
  /// preview never hides a lost picture. A preview carries no metadata, so it can't be used if
  /// metadata is kept.
  static func find(
    in opened: OpenedPicture, options: ThumbnailOptions
  ) throws(VipsError) -> Picture? {
    guard options.fromImage == .ifAbsent, options.strip, opened.loader == .jpeg,
      let bytes = opened.header.blob(Picture.Field.preview)
    else { return nil }
    let longest = options.sizes.map(\.maxPixelSize).max() ?? 0
    guard let preview = decode(bytes), fits(preview, opened.header, longest: longest),
      JPEGStructure.isWhole(try opened.file.read(at: 0, count: opened.file.size))
    else { return nil }
    guard let profile = opened.header.blob(Picture.Field.profile) else { return preview }
    // Its colours have the picture's meaning, but it has no room for a profile.
    return try preview.editingMetadata { $0.set(Picture.Field.profile, profile) }
  }

  /// A preview that can't be decoded completely is ignored.
  private static func decode(_ bytes: [UInt8]) -> Picture? {
    do throws(VipsError) {
      let source = try PictureSource(bytes: bytes)
      guard try source.loader() == .jpeg else { return nil }
      let header = try Picture.load(source, as: .jpeg)
      let preview = try source.decodeJPEG(header, shrink: 1).rendered()
      return source.hasDamagedJPEG ? nil : preview
    } catch {
      return nil
    }
  }

  private static func fits(_ preview: Picture, _ picture: Picture, longest: Int) -> Bool {
    let target = ThumbnailDecoder.fit(picture.width, picture.height, longest)
    guard preview.width >= target.width, preview.height >= target.height else { return false }
    let shape = Double(picture.width) / Double(picture.height)
    let other = Double(preview.width) / Double(preview.height)
    return abs(other - shape) <= 0.01 * shape
  }
}
