import Containers
import PipelineModel
import Vips

/// Facts about pictures whose headers libvips reads.
enum PictureFacts {
  /// Reads the header; if it can't be read, `problem` says why.
  ///
  /// - Parameters:
  ///   - embedded: the file's metadata.
  ///   - exif: set to the EXIF block that libvips finds, if it is `nil`.
  /// - Throws: `VipsError` only if the kernel or the machine is at fault.
  static func read(
    _ file: PictureFile, _ embedded: EmbeddedMetadata, _ exif: inout ExifBlock?
  ) throws(VipsError) -> [String: JSONValue] {
    let opened: OpenedPicture
    do throws(VipsError) {
      opened = try OpenedPicture(file, strictness: .lenient, embedded: embedded)
    } catch {
      // A missing decoder is not the picture's fault; its type is known.
      guard error.code != .inputOutput else { throw error }
      return ["problem": .string(error.message + ".")]
    }
    exif = exif ?? opened.exif
    let header = opened.header
    var facts: [String: JSONValue] = [
      "width": .integer(opened.displayWidth),
      "height": .integer(opened.displayHeight),
      "orientation": .integer(opened.orientation),
      "pages": .integer(max(header.pages, opened.loader == .png ? embedded.frames ?? 1 : 1)),
      "alpha": .bool(header.hasAlpha),
      "bitDepth": .integer(opened.bitDepth),
      "colorSpace": .string(colorSpace(opened)),
    ]
    if let name = opened.profile?.name { facts["iccProfile"] = .string(name) }
    let memory = DecodeMemory(opened)
    facts["decodeBytes"] = [
      "streamed": .integer(memory.streamed), "whole": .integer(memory.whole),
    ]
    if opened.isTooLarge {
      facts["problem"] = .string(
        "The picture has more than \(OpenedPicture.pixelLimit / 1_000_000) megapixels "
          + "and is not decoded.")
    }
    return facts
  }

  private static func colorSpace(_ opened: OpenedPicture) -> String {
    if let profile = opened.profile {
      if let known = profile.known { return known.rawValue }
      switch profile.space {
      case "CMYK": return "cmyk"
      case "GRAY": return "grey"
      default: return profile.name ?? "unknown"
      }
    }
    switch opened.header.space {
    case .cmyk: return "cmyk"
    case .grey, .grey16: return "grey"
    default: break
    }
    // Cameras mark Adobe RGB without a profile; source: EXIF 2.32, annex C.
    if opened.exif?.colorSpace == 2 || opened.exif?.interoperability == "R03" {
      return ColorProfile.Known.adobeRGB.rawValue
    }
    return ColorProfile.Known.srgb.rawValue
  }
}
