import Containers
import Vips

/// A small picture inside a large one: in the EXIF block of a JPEG, or as an item of a HEIF.
enum EmbeddedPreview {
  /// Decodes the preview if the options allow it and it can replace the picture.
  ///
  /// The preview must be at least as large as the largest size and have the picture's shape. The file
  /// around it must be whole, so that a preview never hides a lost picture. A preview carries no
  /// metadata, so it can't be used if metadata is kept.
  static func find(
    in opened: OpenedPicture, options: ThumbnailOptions
  ) throws(VipsError) -> Picture? {
    guard options.fromImage == .ifAbsent, options.strip, options.region == nil else { return nil }
    let preview: Picture?
    switch opened.loader {
    case .jpeg: preview = try inJPEG(opened, longest: options.longest)
    case .heif: preview = try inHEIF(opened, longest: options.longest)
    default: preview = nil
    }
    guard let preview, preview.blob(Picture.Field.profile) == nil,
      let profile = opened.header.blob(Picture.Field.profile)
    else { return preview }
    // Its colours have the picture's meaning.
    return try preview.editingMetadata { $0.set(Picture.Field.profile, profile) }
  }

  /// Cameras like to add black bars, so the shape must be the picture's within 1 %.
  private static func inJPEG(
    _ opened: OpenedPicture, longest: Int
  ) throws(VipsError) -> Picture? {
    guard let bytes = opened.header.blob(Picture.Field.preview), let preview = decode(bytes),
      isLargeEnough(preview, opened.header, longest: longest),
      JPEGStructure.isWhole(try opened.file.read(at: 0, count: opened.file.size))
    else { return nil }
    let shape = Double(opened.header.width) / Double(opened.header.height)
    let other = Double(preview.width) / Double(preview.height)
    return abs(other - shape) <= 0.01 * shape ? preview : nil
  }

  /// The shape must be the picture's within a pixel, and so must be the way it is turned.
  private static func inHEIF(
    _ opened: OpenedPicture, longest: Int
  ) throws(VipsError) -> Picture? {
    guard opened.embedded.hasTurnedThumbnails, let source = opened.source,
      try opened.file.withBytes({ HEIFContainer.isWhole($0) })
    else { return nil }
    let picture = opened.header
    do throws(VipsError) {
      let preview = try Picture.loadHEIFThumbnail(source)
      let height = Double(picture.height) * Double(preview.width) / Double(picture.width)
      guard preview.width < picture.width, preview.hasAlpha == picture.hasAlpha,
        isLargeEnough(preview, picture, longest: longest),
        abs(height - Double(preview.height)) <= 1
      else { return nil }
      return try preview.rendered()
    } catch {
      return nil
    }
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

  private static func isLargeEnough(
    _ preview: Picture, _ picture: Picture, longest: Int
  ) -> Bool {
    let target = ThumbnailDecoder.fit(picture.width, picture.height, longest)
    return preview.width >= target.width && preview.height >= target.height
  }
}

/// The marker structure of a JPEG file.
enum JPEGStructure {
  /// Whether the segments lead from the start of the image through at least one scan to its end.
  ///
  /// Bytes after the end don't matter: phones append videos and depth maps.
  static func isWhole(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { bytes in
      guard var segments = JPEGSegments(bytes) else { return false }
      var hasScan = false
      while let step = segments.next() {
        switch step {
        case .end: return hasScan
        case .segment(let marker, _): hasScan = hasScan || marker == JPEGSegments.startOfScan
        }
      }
      return false
    }
  }
}
