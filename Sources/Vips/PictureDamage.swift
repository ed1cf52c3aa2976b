internal import CPictureLoaders

/// Tells whether pixels that were decoded come from damaged data.
///
/// Decoders fill in what they can't make out, and say so as a warning at most.
package struct PictureDamage {
  private let opened: OpenedPicture
  private let heardBefore: Int

  /// The least part of a JPEG's rows that has data, for the rest to be filled in.
  ///
  /// Less is half a picture. A photograph with one wrong bit has nearly all: from there on its code
  /// is read wrong, but ends about where it should.
  private static let leastPresent = 0.9

  /// Begins to listen, before the first pixel is decoded.
  package init(_ opened: OpenedPicture) {
    self.opened = opened
    heardBefore = opened.loader == .tiff ? TIFFMessages.heard().count : 0
  }

  /// Says what is wrong, once all pixels are decoded, or returns `nil` if nothing is.
  ///
  /// - Throws: `VipsError` of code `undecodable` if so much is missing that it is half a picture.
  package func described() throws(VipsError) -> String? {
    switch opened.loader {
    case .jpeg: try opened.source.jpegFaults().flatMap(Self.describe)
    case .png: try describePNG()
    case .tiff:
      // What is said of another TIFF in this process at the same time can't be told apart. Better
      // a whole picture marked than a damaged one not.
      TIFFMessages.heard().count > heardBefore
        ? "The TIFF is damaged: \(TIFFMessages.heard().last)" : nil
    case .gif, .webp, .heif: nil
    }
  }

  private static func describe(_ faults: pipeline_jpeg_faults) throws(VipsError) -> String {
    let isCut = faults.lacks_end != 0 && faults.lacks_data != 0
    if isCut || faults.present < leastPresent {
      let percent = Int(faults.present * 100)
      throw VipsError(
        .undecodable,
        percent == 100
          ? "The JPEG can't be decoded: it ends too early"
          : "The JPEG can't be decoded: its data end after \(percent) % of the rows")
    }
    let said = withUnsafeBytes(of: faults.first) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    let first = VipsMessage.clause([said]) ?? "its data can't be made out"
    let others = faults.warnings == 1 ? "" : ", and \(faults.warnings - 1) more"
    return "The JPEG is damaged: \(first)\(others)"
  }

  private func describePNG() throws(VipsError) -> String? {
    switch pipeline_png_check(opened.source.pointer) {
    case PIPELINE_PNG_WHOLE: return nil
    case PIPELINE_PNG_DAMAGED: return "The PNG is damaged: a checksum is wrong"
    case PIPELINE_PNG_CUT: return "The PNG is damaged: it ends too early"
    default: throw .current("The PNG can't be read", loader: .png)
    }
  }
}
