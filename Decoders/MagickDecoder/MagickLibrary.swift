import CMagickCore
import PictureDecoding

/// This process's MagickCore.
enum MagickLibrary {
  /// What MagickCore may allocate for pixels, in bytes; eight bytes a pixel.
  ///
  /// A machine's own policy may allow less: Debian's 256 MiB are 32 megapixels.
  private static let memoryLimit: MagickSizeType = 4 << 30
  /// The limit of pixels a side.
  static let sideLimit = 100_000

  /// Why the library can't be used; `nil` if it can.
  private static let problem: String? = {
    // Signals are the worker's.
    MagickCoreGenesis(nil, MagickFalse)
    for (resource, limit) in [
      (MemoryResource, memoryLimit), (MapResource, 0), (DiskResource, 0), (ThreadResource, 1),
      (WidthResource, MagickSizeType(sideLimit)), (HeightResource, MagickSizeType(sideLimit)),
      (AreaResource, memoryLimit / 8), (ListLengthResource, 256),
    ] as [(ResourceType, MagickSizeType)] {
      _ = SetMagickResourceLimit(resource, limit)
    }
    guard let exception = AcquireExceptionInfo() else { return "there is no memory" }
    defer { DestroyExceptionInfo(exception) }
    // Comes after the machine's policy, and narrows it.
    guard SetMagickSecurityPolicy(PictureKind.policy, exception) != MagickFalse else {
      return "its policy can't be set"
    }
    return nil
  }()

  /// The largest number of pixels that the limits leave room for.
  static var pixelLimit: Int { Int(min(GetMagickResourceLimit(MemoryResource) / 8, 500_000_000)) }

  /// Why a picture of a size is not decoded; `nil` if it is.
  static func problem(width: Int, height: Int) -> String? {
    if width * height > pixelLimit {
      return
        "The picture has more than \(pixelLimit / 1_000_000) megapixels and is not decoded."
    }
    for (side, resource) in [(width, WidthResource), (height, HeightResource)] {
      let limit = GetMagickResourceLimit(resource)
      if side > limit {
        return "The picture has more than \(limit) pixels a side and is not decoded."
      }
    }
    return nil
  }

  /// Starts the library, once per process.
  static func start() throws(DecoderError) {
    if let problem { throw DecoderError(.missing, "MagickCore can't be started: \(problem)") }
  }
}
