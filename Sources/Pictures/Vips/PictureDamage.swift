internal import CPictureLoaders

/// Detects whether decoded pixels come from damaged data.
///
/// Decoders fill in what they can't decode, with at most a warning.
package struct PictureDamage {
  private let opened: OpenedPicture
  private let heardBefore: Int

  /// The least fraction of a JPEG's rows that must have data for the rest to be filled in.
  ///
  /// With less, half the picture is missing. A photograph with one wrong bit has nearly all rows:
  /// decoding goes wrong from there on, but ends about where it should.
  private static let leastPresent = 0.9

  /// Starts listening for warnings; call it before the first pixel is decoded.
  package init(_ opened: OpenedPicture) {
    self.opened = opened
    heardBefore = opened.loader == .tiff ? TIFFMessages.heard().count : 0
  }

  /// Describes the damage once all pixels are decoded; `nil` if there is none.
  ///
  /// - Throws: `VipsError` of code `undecodable` if too much of the picture is missing.
  package func described() throws(VipsError) -> String? {
    switch opened.loader {
    case .jpeg: try opened.source?.jpegFaults().flatMap(Self.describe)
    case .png: try describePNG()
    case .tiff:
      // Messages about another TIFF in this process can't be told apart. Better to mark an intact
      // picture than to miss a damaged one.
      TIFFMessages.heard().count > heardBefore
        ? "The TIFF is damaged: \(TIFFMessages.heard().last)" : nil
    default: nil
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
    guard let source = opened.source else { return nil }
    switch pipeline_png_check(source.pointer) {
    case PIPELINE_PNG_WHOLE: return nil
    case PIPELINE_PNG_DAMAGED: return "The PNG is damaged: a checksum is wrong"
    case PIPELINE_PNG_CUT: return "The PNG is damaged: it ends too early"
    default: throw .current("The PNG can't be read", loader: .png)
    }
  }
}
