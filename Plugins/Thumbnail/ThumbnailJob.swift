import Glibc
import PictureDecoding
import PipelineModel
import PipelinePlugin
import Vips

struct ThumbnailJob {
  let options: ThumbnailOptions
  let resamplers: PlaneResamplers
  let host: PluginHost
  /// The longer side of the picture as identified, in pixels; `nil` if it is not known.
  let identifiedSide: Int?
  /// The size of the upright original in pixels, if a thumbnail of it is decoded instead.
  let shape: (width: Int, height: Int)?

  /// Makes and writes all sizes.
  ///
  /// - Returns: the thumbnails, and facts about the picture.
  func run(
    _ path: String, of type: MediaType, into output: OutputFolder
  ) throws(VipsError) -> (renditions: [PluginRendition], facts: [String: JSONValue]) {
    try checkCancellation()
    if let seconds = DecoderTable.entry(for: type)?.mostCPU { host.limitCPU(seconds: seconds) }
    let picture = try SourcePicture(
      path, of: type, longest: options.region == nil ? options.longest : nil,
      isCancelled: cancellation)
    let opened = picture.opened
    try refuseTooLarge(opened)
    let missing = try missingPages(of: opened)
    let damage = PictureDamage(opened)
    let sizes = options.pictureSizes.sorted { $0.longest > $1.longest }
    let decoder = ThumbnailDecoder(
      options: options, region: try region(in: opened), shape: shape, resamplers: resamplers,
      isCancelled: cancellation)
    let preview = try EmbeddedPreview.find(in: opened, options: options)
    let from = preview != nil || picture.isPreview ? "preview" : "image"
    var base: SmallPicture?
    var smallest: SmallPicture?
    var renditions: [String: PluginRendition] = [:]
    for (index, size) in sizes.enumerated() {
      let small: SmallPicture
      // A size that stretches the picture is no source for others.
      let isPlain = size.finish.exact == nil
      if let larger = base, options.scaling == .fast, isPlain {
        small = try decoder.reduce(larger, opened, to: size)
      } else {
        small = try decoder.decode(opened, preview: preview, to: size, isFirst: index == 0)
      }
      if isPlain { base = small }
      let longest = max(small.picture.width, small.picture.height)
      if smallest == nil || isPlain && longest >= Swatch.side { smallest = small }
      let finished = try size.finish.applied(to: small.picture)
      let animation =
        size.isAnimated && missing == nil
        ? try animation(picture, by: decoder, size, finished) : nil
      let rendition = try write(finished, animation, size, into: output)
      renditions[size.name] = PluginRendition(
        name: size.name, path: rendition.path, mediaType: rendition.mediaType,
        // Frames of a film are scaled apart from its still, so a side may be a pixel longer.
        width: animation?.strip.width ?? finished.width,
        height: animation?.frameHeight ?? finished.height, from: from)
      host.progress(Double(index + 1) / Double(sizes.count))
      try checkCancellation()
    }
    let found = try damage.described()
    let wrong = picture.damage ?? found ?? missing
    if wrong != nil { for name in renditions.keys { renditions[name]?.from = "damaged" } }
    var facts =
      try smallest.map { small throws(VipsError) in
        Placeholder(try decoder.swatch(small, opened)).facts
      } ?? [:]
    facts["damage"] = wrong.map { .string($0 + ".") }
    let sheets = try spriteSheets(of: picture, by: decoder, into: output)
    for sheet in sheets { renditions[sheet.rendition.name] = sheet.rendition }
    if !sheets.isEmpty {
      facts["sprites"] = .object(
        Dictionary(sheets.map { ($0.rendition.name, $0.facts) }) { $1 })
    }
    guard !renditions.isEmpty else {
      throw VipsError(.absent, "There are only sizes for films, and the file is none")
    }
    return (options.sizes.compactMap { renditions[$0.name] }, facts)
  }

  /// Makes an animated thumbnail; `nil` if there is none, or not all frames can be decoded.
  private func animation(
    _ picture: SourcePicture, by decoder: ThumbnailDecoder, _ size: ThumbnailOptions.Size,
    _ still: Picture
  ) throws(VipsError) -> Animation? {
    let dimensions = (still.width, still.height)
    do throws(VipsError) {
      if let animation = try Animation(
        picture.opened, by: decoder, size: dimensions, longest: size.maxPixelSize)
      {
        return animation
      }
      // Of the frames of a film, only those of the whole picture are to be had.
      guard options.region == nil else { return nil }
      return try Animation(
        film: picture, by: decoder, size: dimensions, longest: size.maxPixelSize)
    } catch  where error.code == .undecodable {
      return nil
    }
  }

  /// Makes the sprite sheets of a film; none of anything else.
  private func spriteSheets(
    of picture: SourcePicture, by decoder: ThumbnailDecoder, into output: OutputFolder
  ) throws(VipsError) -> [(rendition: PluginRendition, facts: JSONValue)] {
    guard options.region == nil else { return [] }
    var sheets: [(rendition: PluginRendition, facts: JSONValue)] = []
    for size in options.sizes {
      guard let count = size.sprites,
        let film = try FilmFrames(count, of: picture, by: decoder, longest: size.maxPixelSize)
      else { continue }
      let sheet = try SpriteSheet(film)
      let file = try write(sheet.picture, nil, size, into: output)
      let rendition = PluginRendition(
        name: size.name, path: file.path, mediaType: file.mediaType, width: sheet.picture.width,
        height: sheet.picture.height, from: "sprites")
      sheets.append((rendition, sheet.facts))
      try checkCancellation()
    }
    return sheets
  }

  private func write(
    _ picture: Picture, _ animation: Animation?, _ size: ThumbnailOptions.Size,
    into output: OutputFolder
  ) throws(VipsError) -> (path: String, mediaType: String) {
    let encoder = ThumbnailEncoder(
      format: animation == nil ? size.format ?? options.format : .webp,
      quality: size.quality ?? options.quality, options: options)
    let name = "\(size.name).\(encoder.fileExtension)"
    let bytes =
      if let animation { try encoder.encode(animation) } else { try encoder.encode(picture) }
    try output.write(bytes, as: name)
    return (name, encoder.mediaType)
  }

  /// The part of the stored picture to show; `nil` for all of it.
  private func region(in opened: OpenedPicture) throws(VipsError) -> PictureRegion? {
    guard var region = options.region else { return nil }
    // A raw file's preview may have some pixels less than its picture.
    if opened.loader?.isDrawing != true, let identifiedSide {
      let longer = max(opened.header.width, opened.header.height)
      region = region.scaled(from: identifiedSide, to: longer)
    }
    let width = options.transform ? opened.displayWidth : opened.header.width
    let height = options.transform ? opened.displayHeight : opened.header.height
    guard let inside = region.clipped(width: width, height: height) else {
      throw VipsError(
        .undecodable,
        "The region at \(region.x),\(region.y) lies outside the picture, which has "
          + "\(width) × \(height) pixels")
    }
    return inside.stored(
      orientation: options.transform ? opened.orientation : 1,
      storedWidth: opened.header.width, storedHeight: opened.header.height)
  }

  private func refuseTooLarge(_ opened: OpenedPicture) throws(VipsError) {
    guard opened.isTooLarge else { return }
    throw VipsError(
      .tooLarge,
      "The picture is \(opened.header.width) × \(opened.header.height) pixels; the limit is "
        + "\(OpenedPicture.pixelLimit / 1_000_000) megapixels")
  }

  /// Returns what is missing after the first page or frame, which is the only one shown.
  ///
  /// - Throws: `VipsError` of code `undecodable` if the first one is cut, too.
  private func missingPages(of opened: OpenedPicture) throws(VipsError) -> String? {
    // The frame count does not help: a missing frame is not counted.
    switch opened.loader {
    case .gif:
      switch GIFStructure.end(of: try opened.file.read(at: 0, count: opened.file.size)) {
      case .whole: return nil
      case .cutBehindFirst: return "The GIF ends too early: frames after the first are missing"
      case .cut: throw VipsError(.undecodable, "The GIF can't be decoded: it ends too early")
      }
    case .tiff:
      return try TIFFStructure.isCutShort(opened.file)
        ? "The TIFF ends too early: pages after the first are missing" : nil
    case .pnm:
      guard
        let problem = try PixmapStructure.problem(
          opened.file, width: opened.header.width, height: opened.header.height)
      else { return nil }
      throw VipsError(.undecodable, "The PNM can't be decoded: \(problem)")
    default: return nil
    }
  }

  private func checkCancellation() throws(VipsError) {
    if host.isCancelled { throw VipsError(.cancelled, "The job was cancelled") }
  }

  private var cancellation: @Sendable () -> Bool {
    // Sendable because the host's table may be called from any thread while the job runs.
    nonisolated(unsafe) let host = host
    return { host.isCancelled }
  }
}

/// A job's output folder, and the files created in it so far.
final class OutputFolder {
  private let path: String
  private var names: [String] = []

  init(_ path: String) { self.path = path }

  /// Writes a new file; removes it if it can't be written completely.
  func write(_ bytes: [UInt8], as name: String) throws(VipsError) {
    let descriptor = open(
      "\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    let number = errno
    guard descriptor >= 0 else { throw Self.failure(name, number) }
    names.append(name)
    var done = 0
    while done < bytes.count {
      let wrote = bytes.withUnsafeBytes { buffer in
        Glibc.write(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done)
      }
      let number = errno
      if wrote > 0 {
        done += wrote
      } else if number != EINTR {
        close(descriptor)
        throw Self.failure(name, wrote == 0 ? EIO : number)
      }
    }
    // Network file systems and quotas report missing space at close.
    guard close(descriptor) == 0 else { throw Self.failure(name, errno) }
  }

  /// Removes the files created so far, so that a failed job leaves nothing.
  func removeAll() {
    // Clean-up: the host empties the folder as well.
    for name in names { unlink("\(path)/\(name)") }
    names = []
  }

  private static func failure(_ name: String, _ number: Int32) -> VipsError {
    VipsError(
      .inputOutput, "The thumbnail \(name) can't be written: \(String(cString: strerror(number)))",
      errno: number)
  }
}
