import Catalog
import Files
import Glibc
import Ingest
import LibrarySession
import PipelineModel
import Records

/// `pipeline get`: writes the bytes of an original or a rendition, or a picture of any size.
enum GetVerb: Verb {
  static let name = "get"
  static let summary = "Write the bytes of an original, a rendition or a picture of any size"
  static let operands = "ID"
  static let rendition = Option(
    name: "--rendition", value: "NAME", help: "a rendition, as NAME or STAGE/NAME")
  static let maxPixelSize = Option(
    name: "--max-pixel-size", value: "PIXELS",
    help: "a picture whose longer side has at most this many pixels; never enlarged")
  static let region = Option(
    name: "--region", value: "X,Y,W,H",
    help: "only this part of the picture, in pixels of the upright original")
  static let format = Option(
    name: "--format", value: "FORMAT", help: "the picture's file format (default: jpeg)",
    values: PictureKey.Format.allCases.map(\.rawValue))
  static let rotation = Option(
    name: "--rotation", value: "DEGREES", help: "turn the picture clockwise at the end",
    values: PictureKey.Finish.Rotation.allCases.map { "\($0.rawValue)" })
  static let quality = Option(
    name: "--quality", value: "QUALITY", help: "without colours, or in black and white only",
    values: PictureKey.Finish.Quality.allCases.map(\.rawValue))
  static let acceptStale = Option(
    name: "--accept-stale", help: "rather an outdated picture at once than to wait for a new one")
  static let describe = Option(
    name: "--describe", help: "before a picture, write a line of JSON about it")
  static let output = Option(
    name: "--output", short: "-o", value: "FILE",
    help: "write to a new file, which gets the original's time; - for standard output")
  static let options = [
    rendition, maxPixelSize, region, format, rotation, quality, acceptStale, describe, output,
  ]
  static let examples = [
    ("pipeline get 0197a2c4 -o photo.jpg", "the original, verified while copying"),
    ("pipeline get 0197a2c4 --rendition grid > grid.jpg", "a thumbnail"),
    (
      "pipeline get 0197a2c4 --max-pixel-size 640 --format webp -o small.webp",
      "a picture of this size"
    ),
    ("pipeline get 0197a2c4 -o - | exiftool -", "to another program"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let text = try context.operand(0, "ID")
    if context.arguments.path(output) == nil, isatty(STDOUT_FILENO) == 1 {
      throw UsageError(
        "A terminal can't show these bytes: add -o FILE, or -o - to write them anyway.",
        verb: name)
    }
    let request = try pictureRequest(context)
    let session = try ReadingSession(context.search)
    let asset = try session.asset(text)
    if let request {
      let content = try content(ofPicture: request, of: asset, in: session, context)
      try deliver(asset, context) { write throws(FileError) in
        try VerifiedRendition.bytes(content).forEachChunk(write)
      }
    } else if let name = context.arguments.value(rendition) {
      let content = try content(ofRendition: name, of: asset, in: session)
      try deliver(asset, context) { write throws(FileError) in try content.forEachChunk(write) }
    } else {
      try deliver(asset, context) { write throws(FileError) in
        try session.readOriginal(of: asset, write)
      }
    }
    return .success
  }

  // MARK: Pictures

  /// The picture that the options ask for, if they do.
  private static func pictureRequest(_ context: Context) throws(UsageError) -> PictureRequest? {
    let arguments = context.arguments
    guard let text = arguments.value(maxPixelSize) else {
      let given = [region, format, rotation, quality, acceptStale, describe].first {
        arguments.has($0) || arguments.value($0) != nil
      }
      if let given {
        throw UsageError("\(given.name) needs \(maxPixelSize.name).", verb: name)
      }
      return nil
    }
    if arguments.value(rendition) != nil {
      throw UsageError(
        "\(rendition.name) and \(maxPixelSize.name) ask for different pictures: use one of them.",
        verb: name)
    }
    guard let size = Int(text), size > 0 else {
      throw UsageError("“\(text)” is not a number of pixels.", verb: name)
    }
    var request = PictureRequest(maxPixelSize: size)
    if let text = arguments.value(region) { request.region = try parseRegion(text) }
    if let text = arguments.value(format) {
      guard let known = PictureKey.Format(rawValue: text) else {
        let names = PictureKey.Format.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("“\(text)” is not a format of pictures: \(names).", verb: name)
      }
      request.format = known
    }
    if let text = arguments.value(rotation) {
      guard let known = Int(text).flatMap({ PictureKey.Finish.Rotation(rawValue: $0) }) else {
        throw UsageError.unknownValue(text, of: rotation, known: rotation.values, verb: name)
      }
      request.finish.rotation = known
    }
    if let text = arguments.value(quality) {
      guard let known = PictureKey.Finish.Quality(rawValue: text) else {
        throw UsageError.unknownValue(text, of: quality, known: quality.values, verb: name)
      }
      request.finish.quality = known
    }
    request.acceptsStale = arguments.has(acceptStale)
    return request
  }

  private static let mostPixels = PictureRequest.mostPixels

  private static func parseRegion(_ text: String) throws(UsageError) -> PictureKey.Region {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 4, let x = numbers[0], let y = numbers[1], let width = numbers[2],
      let height = numbers[3], (0...mostPixels).contains(x), (0...mostPixels).contains(y),
      (1...mostPixels).contains(width), (1...mostPixels).contains(height)
    else {
      throw UsageError(
        "“\(text)” is not a region: write X,Y,WIDTH,HEIGHT in pixels, as 10,20,300,200.",
        verb: name)
    }
    return PictureKey.Region(x: x, y: y, width: width, height: height)
  }

  /// A picture's bytes, with a description before them if that is asked for.
  private static func content(
    ofPicture request: PictureRequest, of asset: AssetRecord, in session: ReadingSession,
    _ context: Context
  ) throws -> [UInt8] {
    let describes = context.arguments.has(describe)
    let maker = PictureMaker(session) { context.console.warning($0) }
    let (picture, isStale) = try maker.picture(of: asset, request)
    guard describes else {
      if let damage = picture.damage { context.console.warning(damage) }
      return picture.bytes
    }
    let description: JSONValue = [
      "bytes": .integer(picture.bytes.count), "damage": JSONMembers.text(picture.damage),
      "height": .integer(picture.height), "isStale": .bool(isStale),
      "library": .string(session.library.marker.library),
      "mediaType": .string(picture.mediaType), "width": .integer(picture.width),
    ]
    return Array(try JSONText.encode(description).utf8) + [UInt8(ascii: "\n")] + picture.bytes
  }

  private typealias Writer = (UnsafeRawBufferPointer) throws(FileError) -> Void

  private static func content(
    ofRendition name: String, of asset: AssetRecord, in session: ReadingSession
  ) throws -> VerifiedRendition {
    let found = asset.renditions(named: name)
    guard let rendition = found.first else {
      let names = asset.renditions.map { "\($0.stage)/\($0.name)" }.joined(separator: ", ")
      throw UsageError(
        names.isEmpty
          ? "\(asset.id) has no renditions (yet); `pipeline explain \(asset.id)` tells why."
          : "\(asset.id) has no rendition “\(name)”, only \(names).", verb: Self.name)
    }
    guard found.count == 1 else {
      let names = found.map { "\($0.stage)/\($0.name)" }.joined(separator: ", ")
      throw UsageError("“\(name)” matches \(names); write one of them.", verb: Self.name)
    }
    return try RenditionReader(of: session.library, session.catalog)
      .content(of: rendition, of: asset.id)
  }

  /// Writes to standard output, or atomically to a new file.
  private static func deliver(
    _ asset: AssetRecord, _ context: Context, _ body: (Writer) throws(FileError) -> Void
  ) throws {
    guard let name = context.arguments.path(output), name != "-" else {
      var isRead = true
      try body { bytes throws(FileError) in
        isRead = isRead && context.console.hasReader
        if isRead { context.console.write(Array(bytes)) }
      }
      return try context.console.expectReader()
    }
    let path = context.path(name)
    let folder = try Descriptor.openFolder(path.parent)
    let temporary = BytePath(".pipeline-get-\(getpid()).new")
    let file = try Descriptor.open(
      temporary, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o644)
    do throws(FileError) {
      try body { bytes throws(FileError) in try file.write(bytes) }
      try file.setModified(asset.modified)
      try file.sync()
      try folder.rename(temporary, to: folder, as: path.lastComponent)
    } catch {
      // Clean-up: report the original error.
      try? folder.remove(temporary)
      guard error.code == .exists else { throw error }
      throw FileError(
        .exists, "“\(path.printable)” already exists; nothing was written.", path: path)
    }
  }
}
