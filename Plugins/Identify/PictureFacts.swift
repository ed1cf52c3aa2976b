import PipelineModel
import Vips

/// Facts of pictures whose headers libvips reads.
enum PictureFacts {
  /// Reads what the header says; `problem` says why if it can't be read.
  ///
  /// - Throws: `VipsError` only where the kernel or the machine is at fault.
  static func read(_ file: PictureFile, head: [UInt8]) throws(VipsError) -> [String: JSONValue] {
    let opened: OpenedPicture
    do throws(VipsError) {
      opened = try OpenedPicture(file, strictness: .lenient)
    } catch {
      // A decoder that is missing here says nothing against the picture; its type is known.
      guard error.code != .inputOutput else { throw error }
      return ["problem": .string(error.message + ".")]
    }
    let header = opened.header
    var facts: [String: JSONValue] = [
      "width": .integer(opened.displayWidth),
      "height": .integer(opened.displayHeight),
      "orientation": .integer(opened.orientation),
      "pages": .integer(header.pages),
      "alpha": .bool(header.hasAlpha),
      "bitDepth": .integer(bitDepth(opened, head)),
      "colorSpace": .string(colorSpace(opened)),
    ]
    if let name = opened.profile?.name { facts["iccProfile"] = .string(name) }
    if let exif = opened.exif, let time = CaptureTime(exif) {
      facts["capturedAt"] = .string(time.text)
    }
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

  private static func bitDepth(_ opened: OpenedPicture, _ head: [UInt8]) -> Int {
    // libvips widens what a file packs into fewer bits. IHDR is always the first chunk.
    if opened.loader == .png, head.count > 24 { return Int(head[24]) }
    return opened.bitDepth
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
