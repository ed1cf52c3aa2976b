import PipelinePlugin
import Vips

/// The thumbnails of one picture.
struct ThumbnailJob {
  let options: ThumbnailOptions
  let resamplers: PlaneResamplers
  let host: PluginHost

  /// Makes all sizes and writes them.
  func run(
    _ file: PictureFile, into output: OutputFolder
  ) throws(VipsError) -> [PluginRendition] {
    try checkCancellation()
    let opened = try OpenedPicture(file, strictness: .truncated)
    try refuseTooLarge(opened)
    try refuseCutShort(opened)
    let sizes = options.sizes.sorted { $0.maxPixelSize > $1.maxPixelSize }
    let decoder = ThumbnailDecoder(
      options: options, resamplers: resamplers, isCancelled: cancellation)
    let preview = try EmbeddedPreview.find(in: opened, options: options)
    var base: Picture?
    var renditions: [String: PluginRendition] = [:]
    for (index, size) in sizes.enumerated() {
      let picture: Picture
      if let larger = base, options.scaling == .fast {
        picture = try decoder.reduce(larger, opened, longest: size.maxPixelSize)
      } else {
        picture = try decoder.decode(opened, preview: preview, longest: size.maxPixelSize)
      }
      base = picture
      let rendition = try write(picture, size, into: output)
      renditions[size.name] = PluginRendition(
        name: size.name, path: rendition.path, mediaType: rendition.mediaType,
        width: picture.width, height: picture.height, from: preview == nil ? "image" : "preview")
      host.progress(Double(index + 1) / Double(sizes.count))
      try checkCancellation()
    }
    return options.sizes.compactMap { renditions[$0.name] }
  }

  private func write(
    _ picture: Picture, _ size: ThumbnailOptions.Size, into output: OutputFolder
  ) throws(VipsError) -> (path: String, mediaType: String) {
    let encoder = ThumbnailEncoder(
      format: size.format ?? options.format, quality: size.quality ?? options.quality,
      options: options)
    let name = "\(size.name).\(encoder.fileExtension)"
    try output.write(try encoder.encode(picture), as: name)
    return (name, encoder.mediaType)
  }

  private func refuseTooLarge(_ opened: OpenedPicture) throws(VipsError) {
    guard opened.isTooLarge else { return }
    throw VipsError(
      .tooLarge,
      "The picture is \(opened.header.width) × \(opened.header.height) pixels; the limit is "
        + "\(OpenedPicture.pixelLimit / 1_000_000) megapixels")
  }

  /// Refuses files whose first frame is whole and others are not.
  private func refuseCutShort(_ opened: OpenedPicture) throws(VipsError) {
    // Not asked of single frames only: a frame that is missing is not counted either.
    let isCut =
      switch opened.loader {
      case .gif:
        GIFStructure.isCutShort(try opened.file.read(at: 0, count: opened.file.size))
      case .tiff: try TIFFStructure.isCutShort(opened.file)
      default: false
      }
    guard isCut else { return }
    throw VipsError(.undecodable, "The \(opened.loader.title) can't be decoded: it ends too early")
  }

  private func checkCancellation() throws(VipsError) {
    if host.isCancelled { throw VipsError(.cancelled, "The job was given up") }
  }

  private var cancellation: @Sendable () -> Bool {
    // Sendable because the host's table allows any thread to ask while the job runs.
    nonisolated(unsafe) let host = host
    return { host.isCancelled }
  }
}
