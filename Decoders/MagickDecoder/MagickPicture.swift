import CMagickCore
import Containers
import PictureDecoding

/// A picture that MagickCore read, or whose header it read.
final class MagickPicture {
  private let image: UnsafeMutablePointer<Image>
  private let exception: UnsafeMutablePointer<ExceptionInfo>
  /// What MagickCore says is wrong with the file; `nil` if nothing is.
  private(set) var complaint: String?

  private init(
    _ image: UnsafeMutablePointer<Image>, _ exception: UnsafeMutablePointer<ExceptionInfo>
  ) {
    (self.image, self.exception) = (image, exception)
  }

  deinit {
    DestroyImageList(image)
    DestroyExceptionInfo(exception)
  }

  /// Keeps the closure for the time of a call.
  private final class Watch {
    let isCancelled: () -> Bool
    init(_ isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }
  }

  private static func attempt(
    _ bytes: UnsafeRawBufferPointer, _ kind: PictureKind, _ headerOnly: Bool,
    _ isCancelled: () -> Bool
  ) throws(DecoderError) -> (
    image: UnsafeMutablePointer<Image>?, exception: UnsafeMutablePointer<ExceptionInfo>
  ) {
    guard let info = AcquireImageInfo(), let exception = AcquireExceptionInfo() else {
      throw DecoderError(.outOfMemory, "There is not enough memory for the picture")
    }
    defer { DestroyImageInfo(info) }
    pipeline_magick_choose(info, kind.coder)
    let image = withoutActuallyEscaping(isCancelled) { isCancelled in
      let watch = Watch(isCancelled)
      return withExtendedLifetime(watch) {
        pipeline_magick_watch(
          info,
          { _, _, _, context in
            guard let context else { return MagickTrue }
            let watch = Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
            return watch.isCancelled() ? MagickFalse : MagickTrue
          }, Unmanaged.passUnretained(watch).toOpaque())
        return headerOnly
          ? PingBlob(info, bytes.baseAddress, bytes.count, exception)
          : BlobToImage(info, bytes.baseAddress, bytes.count, exception)
      }
    }
    return (image, exception)
  }

  /// Reads the first picture by the coder of a kind, whatever the bytes look like.
  ///
  /// - Parameters:
  ///   - source: the name of the kind of file that the bytes were made from; `nil` if they are a file's.
  ///   - headerOnly: whether pixels are left out.
  ///   - isCancelled: asked for each row or so.
  static func read(
    _ bytes: UnsafeRawBufferPointer, as kind: PictureKind, madeFrom source: String? = nil,
    headerOnly: Bool, isCancelled: () -> Bool
  ) throws(DecoderError) -> MagickPicture {
    let name = source ?? kind.name
    try MagickLibrary.start()
    var (image, exception) = try attempt(bytes, kind, headerOnly, isCancelled)
    if pipeline_magick_severity(exception) % 100 == ConfigureError.rawValue % 100 {
      // Its first use loads MagickCore's own files, which the sandbox keeps from it. That says nothing of
      // the picture, and hides what would.
      if let image { DestroyImageList(image) }
      DestroyExceptionInfo(exception)
      (image, exception) = try attempt(bytes, kind, headerOnly, isCancelled)
    }
    if isCancelled() {
      if let image { DestroyImageList(image) }
      DestroyExceptionInfo(exception)
      throw DecoderError(.cancelled, "The job was cancelled")
    }
    let severity = pipeline_magick_severity(exception)
    guard let image else {
      defer { DestroyExceptionInfo(exception) }
      throw failure(severity, exception, name)
    }
    pipeline_magick_unwatch(image)
    let picture = MagickPicture(image, exception)
    if severity >= WarningException.rawValue {
      // A picture was read all the same.
      // libtiff warns of tags of a file that it does not know.
      let isHarmless = kind == .tiff && source == nil && severity < ErrorException.rawValue
      picture.complaint = isHarmless ? nil : Self.reason(exception)
      if severity % 100 == ResourceLimitError.rawValue % 100 {
        throw failure(severity, exception, name)
      }
    }
    // MagickCore checks sizes only where it allocates pixels. Negative numbers are huge ones to it.
    let (width, height) = (picture.width, picture.height)
    guard width != 0, height != 0 else {
      throw DecoderError(.undecodable, "The \(name) can't be decoded: it has no pixels")
    }
    guard (1...MagickLibrary.sideLimit).contains(width),
      (1...MagickLibrary.sideLimit).contains(height)
    else {
      throw DecoderError(
        .tooLarge,
        "The \(name) picture claims to have more than \(MagickLibrary.sideLimit) pixels a side"
      )
    }
    return picture
  }

  private static func failure(
    _ severity: Int32, _ exception: UnsafePointer<ExceptionInfo>, _ name: String
  ) -> DecoderError {
    // Classes of errors repeat every hundred: warnings, errors, fatal errors.
    switch severity % 100 {
    case Int32(ResourceLimitError.rawValue) % 100:
      return DecoderError(
        .tooLarge,
        "The \(name) picture needs more memory than MagickCore's limits allow, which are "
          + "\(MagickLibrary.pixelLimit / 1_000_000) megapixels")
    case Int32(MissingDelegateError.rawValue) % 100, Int32(ModuleError.rawValue) % 100:
      return DecoderError(.missing, "MagickCore has no coder for \(name)")
    default:
      return DecoderError(
        .undecodable, "The \(name) can't be decoded: \(reason(exception) ?? "no reason given")"
      )
    }
  }

  /// MagickCore's reason as words: `improper image header`.
  ///
  /// Its texts end with a file name, which is left out.
  private static func reason(_ exception: UnsafePointer<ExceptionInfo>) -> String? {
    guard let text = pipeline_magick_reason(exception) else { return nil }
    let words = String(cString: text).split(separator: "`").first.map(String.init) ?? ""
    var spaced = ""
    for character in words.prefix(120) {
      if character.isUppercase, let last = spaced.last, last.isLowercase { spaced += " " }
      spaced += character.lowercased()
    }
    let clean = spaced.split(separator: " ").joined(separator: " ")
    return clean.isEmpty ? nil : clean
  }

  private var description: pipeline_magick_description { pipeline_magick_describe(image) }

  var width: Int { description.width }
  var height: Int { description.height }
  var hasAlpha: Bool { description.has_alpha != 0 }
  var bitDepth: Int { description.depth }

  /// The colour models that are told apart.
  enum ColorKind: String {
    case grey
    case rgb = "srgb"
    case cmyk
    case lab
  }

  var colorKind: ColorKind {
    switch ColorspaceType(rawValue: UInt32(description.colorspace)) {
    case GRAYColorspace, LinearGRAYColorspace: .grey
    case CMYKColorspace: .cmyk
    case LabColorspace: .lab
    default: .rgb
    }
  }

  /// The ICC profile in the file; empty if there is none.
  var profile: [UInt8] { profile("icc") }

  /// The EXIF orientation in the file.
  var orientation: Int {
    let exif = profile("exif")
    let orientation = exif.isEmpty ? nil : ExifBlock(exif)?.orientation
    return orientation.map { Int($0) } ?? 1
  }

  private func profile(_ name: String) -> [UInt8] {
    var length = 0
    let bytes = pipeline_magick_profile(image, name, &length)
    return Array(UnsafeRawBufferPointer(start: bytes, count: length))
  }

  /// Converts the pixels to RGB or grey.
  ///
  /// CMYK goes by its profile to sRGB, or without one by the plain formula; Lab goes to sRGB.
  ///
  /// - Returns: the profile that the pixels then have; empty for sRGB.
  func convert() throws(DecoderError) -> [UInt8] {
    let profile = profile
    switch colorKind {
    case .grey, .rgb: return profile
    case .cmyk where !profile.isEmpty:
      let target = MatrixProfile.srgb.bytes
      let isDone = target.withUnsafeBytes {
        ProfileImage(image, "icc", $0.baseAddress, $0.count, MagickTrue)
      }
      guard isDone != MagickFalse, colorKind == .rgb else { break }
      return []
    case .cmyk, .lab: break
    }
    guard TransformImageColorspace(image, sRGBColorspace) != MagickFalse else {
      throw DecoderError(.undecodable, "The picture's colours can't be converted")
    }
    return []
  }

  /// Returns the pixels in 8 bits: grey (1 band), RGB (3) or RGB and alpha (4).
  func pixels(bands: Int) throws(DecoderError) -> [UInt8] {
    let map = bands == 1 ? "I" : bands == 3 ? "RGB" : "RGBA"
    let count = width * height * bands
    let pixels = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let isDone = pipeline_magick_export(
        image, width, height, map, buffer.baseAddress, exception)
      initialized = isDone != 0 ? count : 0
    }
    guard pixels.count == count else {
      throw DecoderError(.undecodable, "The picture's pixels can't be read")
    }
    return pixels
  }
}
