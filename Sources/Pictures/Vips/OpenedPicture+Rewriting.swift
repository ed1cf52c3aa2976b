import Containers

/// Files that libvips and its libraries read wrongly, written in memory in a way that they read rightly.
extension OpenedPicture {
  /// The most bytes of a file that is rewritten.
  private static let mostRewritten = 256 << 20

  /// Returns what is to be read instead of a file; `nil` if that is the file itself.
  ///
  /// - Parameter structure: what a JPEG 2000 file says about its values.
  static func rewritten(
    _ file: PictureFile, _ source: PictureSource, _ loader: PictureLoader,
    _ structure: JPEG2000Structure?
  ) throws(VipsError) -> [UInt8]? {
    switch loader {
    case .heif: return try orderedHEIF(file)
    case .jp2k: return try indices(in: file, structure)
    case .pnm: return try PixmapHeader.withoutComments(file)
    case .svg:
      try DrawingStructure.refuseEndless(file)
      return try DrawingViewport.completed(file) { () throws(VipsError) in
        let natural = try Picture.load(source, as: .svg)
        return (natural.width, natural.height)
      }
    default: return nil
    }
  }

  private static func orderedHEIF(_ file: PictureFile) throws(VipsError) -> [UInt8]? {
    let edits = try file.withBytes { HEIFContainer.editsThatPutTransformationsLast($0) }
    guard !edits.isEmpty, file.size <= mostRewritten else { return nil }
    var bytes = try file.read(at: 0, count: file.size)
    for edit in edits where edit.offset + edit.bytes.count <= bytes.count {
      bytes.replaceSubrange(edit.offset..<(edit.offset + edit.bytes.count), with: edit.bytes)
    }
    return bytes
  }

  /// The codestream alone, if it has indices of a palette.
  ///
  /// libvips 8.14.1 makes room for the indices, but writes the colours that OpenJPEG takes from the
  /// palette, which are longer.
  private static func indices(
    in file: PictureFile, _ structure: JPEG2000Structure?
  ) throws(VipsError) -> [UInt8]? {
    guard let structure else { return nil }
    if structure.isBeyondLibvips {
      throw VipsError(
        .undecodable,
        "The JPEG 2000 can't be decoded by libvips: its components, its colours or its boxes are "
          + "unusual")
    }
    guard structure.hasPalette else { return nil }
    guard structure.codestream.count <= mostRewritten else {
      throw VipsError(
        .tooLarge,
        "The JPEG 2000 has a palette, and more than \(mostRewritten >> 20) MiB of pixels")
    }
    let range = structure.codestream
    return try file.read(at: range.lowerBound, count: range.count)
  }

  /// What the values of a PGM or PPM are multiplied with, if its white is none of libvips'.
  static func pixmapScale(_ file: PictureFile) throws(VipsError) -> Double? {
    var reader = PixmapReader(file)
    return try PixmapHeader(&reader)?.scale
  }

  /// The picture of which an OpenEXR file has pixels.
  static func framed(_ pixels: Picture, _ window: OpenEXRWindow?) throws(VipsError) -> Picture {
    guard let window else { return pixels }
    // libvips has alpha from 0 to 255 in linear light, too.
    return try pixels.placed(
      x: window.x, y: window.y, width: window.width, height: window.height,
      alpha: window.hasAlpha ? 0 : 255)
  }

  static func scaled(_ picture: Picture, by factor: Double?) throws(VipsError) -> Picture {
    guard let factor else { return picture }
    return try picture.scaled(by: factor)
  }
}
