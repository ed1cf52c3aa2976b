internal import Glibc
import Vips

/// Files of the less usual kinds that libvips reads, most of them written byte by byte.
extension Pictures {
  /// A file of one kind.
  package struct Kind: Sendable {
    package let name: String
    /// What it must be identified as.
    package let mediaType: String
    package let bytes: [UInt8]
    /// Whether it shows the colours of `corners`; the other kinds are grey.
    package let isColored: Bool

    package init(name: String, mediaType: String, bytes: [UInt8], isColored: Bool = true) {
      (self.name, self.mediaType, self.bytes) = (name, mediaType, bytes)
      self.isColored = isColored
    }
  }

  /// One file of each kind, 160 × 120 pixels of the picture with the four corners.
  package static func kinds() throws -> [Kind] {
    let (width, height) = (160, 120)
    let plain = pixels(width: width, height: height)
    let picture = try Picture.pixels(plain, width: width, height: height, bands: 3)
    let grey = plain.enumerated().filter { $0.offset % 3 == 1 }.map(\.element)
    func linear(_ x: Int, _ y: Int, _ band: Int) -> Float {
      linearLight(plain[(y * width + x) * 3 + band])
    }
    let jp2 = try file(picture, ".jp2[Q=80]")
    return [
      Kind(name: "JPEG 2000", mediaType: "image/jp2", bytes: jp2),
      Kind(
        name: "JPEG 2000 codestream", mediaType: "image/x-jp2-codestream",
        bytes: codestream(in: jp2)),
      Kind(name: "JPEG XL", mediaType: "image/jxl", bytes: try file(picture, ".jxl[Q=95]")),
      Kind(
        name: "PBM", mediaType: "image/x-portable-bitmap",
        bytes: bitmap(width: width, height: height) { x, y in plain[(y * width + x) * 3 + 1] < 128
        },
        isColored: false),
      Kind(
        name: "PGM", mediaType: "image/x-portable-greymap",
        bytes: Array("P5\n\(width) \(height)\n255\n".utf8) + grey, isColored: false),
      Kind(
        name: "PPM", mediaType: "image/x-portable-pixmap",
        bytes: Array("P6\n\(width) \(height)\n255\n".utf8) + plain),
      Kind(
        name: "PFM", mediaType: "image/x-portable-floatmap",
        bytes: floatMap(width: width, height: height, bands: 3, linear)),
      Kind(
        name: "Radiance HDR", mediaType: "image/vnd.radiance",
        bytes: radiance(width: width, height: height, linear)),
      Kind(
        name: "OpenEXR", mediaType: "image/x-exr",
        bytes: openEXR(width: width, height: height, linear)),
      Kind(
        name: "FITS", mediaType: "image/fits",
        bytes: fits(width: width, height: height) { x, y in grey[y * width + x] },
        isColored: false),
      Kind(name: "SVG", mediaType: "image/svg+xml", bytes: svg(width: width, height: height)),
      Kind(
        name: "PDF", mediaType: "application/pdf",
        bytes: pdf(pages: [pdfPage(width: width, height: height)])),
    ]
  }

  /// The light that a value of sRGB stands for; source: IEC 61966-2-1.
  package static func linearLight(_ value: UInt8) -> Float {
    let value = Double(value) / 255
    return Float(value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4))
  }

  /// The bytes from the start of the codestream on, which may end the file as they do the box.
  package static func codestream(in jp2: [UInt8]) -> [UInt8] {
    let start = jp2.indices.first { jp2[$0...].starts(with: [0xFF, 0x4F, 0xFF, 0x51]) }
    return Array(jp2[(start ?? 0)...])
  }

  /// A JPEG XL codestream whose header says how it is to be turned.
  ///
  /// libvips writes headers in which all is as by default; this writes the same ones out.
  /// Source: ISO/IEC 18181-1, annexes A and D.
  ///
  /// - Parameter codestream: as libvips writes it, lossy and without metadata.
  package static func turned(_ codestream: [UInt8], orientation: Int) -> [UInt8] {
    var bits = codestream.dropFirst(2).prefix(12).flatMap { byte in
      (0..<8).map { byte >> $0 & 1 }
    }[...]
    var header: [UInt8] = []
    func take(_ count: Int) -> Int {
      let taken = bits.prefix(count)
      header += taken
      bits = bits.dropFirst(count)
      return taken.reversed().reduce(0) { $0 << 1 | Int($1) }
    }
    func takeSide(_ isSmall: Bool) { _ = take(isSmall ? 5 : [9, 13, 18, 30][take(2)]) }
    let isSmall = take(1) == 1
    takeSide(isSmall)
    if take(3) == 0 { takeSide(isSmall) }
    precondition(bits.starts(with: [1, 1]), "the header is not as by default")
    let rest = 2 + (header.count + 2 + 7) / 8
    let turn = orientation - 1
    // The orientation; integers of 8 bits, in XYB, of sRGB.
    header += [0, 1, UInt8(turn & 1), UInt8(turn >> 1 & 1), UInt8(turn >> 2), 0, 0, 0]
    header += [0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1]
    let bytes = stride(from: 0, to: header.count, by: 8).map { start in
      header[start..<min(start + 8, header.count)].reversed().reduce(UInt8(0)) { $0 << 1 | $1 }
    }
    return [0xFF, 0x0A] + bytes + codestream[rest...]
  }

  /// A binary PBM, in which a bit of one is black.
  package static func bitmap(
    width: Int, height: Int, isBlack: (_ x: Int, _ y: Int) -> Bool
  ) -> [UInt8] {
    var bytes = Array("P4\n\(width) \(height)\n".utf8)
    for y in 0..<height {
      for start in stride(from: 0, to: width, by: 8) {
        bytes.append(
          (start..<min(start + 8, width)).reduce(0) {
            $0 | (isBlack($1, y) ? UInt8(0x80) >> ($1 - start) : 0)
          })
      }
    }
    return bytes
  }

  /// A PFM of little-endian values, whose first row is at the bottom.
  ///
  /// Source: netpbm's page pfm(5).
  package static func floatMap(
    width: Int, height: Int, bands: Int, _ value: (_ x: Int, _ y: Int, _ band: Int) -> Float
  ) -> [UInt8] {
    var bytes = Array("P\(bands == 1 ? "f" : "F")\n\(width) \(height)\n-1.0\n".utf8)
    for y in (0..<height).reversed() {
      for x in 0..<width {
        for band in 0..<bands { bytes += little(Int(value(x, y, band).bitPattern), 4) }
      }
    }
    return bytes
  }

  /// A Radiance picture of pixels that are not compressed.
  ///
  /// Source: Ward, “Real Pixels”, Graphics Gems II.
  package static func radiance(
    width: Int, height: Int, _ value: (_ x: Int, _ y: Int, _ band: Int) -> Float
  ) -> [UInt8] {
    var bytes = Array("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y \(height) +X \(width)\n".utf8)
    for y in 0..<height {
      for x in 0..<width {
        let values = (0..<3).map { value(x, y, $0) }
        let exponent = Int((values.max() ?? 0).exponent) + 1
        guard values.contains(where: { $0 > 1e-30 }) else {
          bytes += [0, 0, 0, 0]
          continue
        }
        let scale = Float(sign: .plus, exponent: 8 - exponent, significand: 1)
        bytes += values.map { UInt8(min(255, $0 * scale)) } + [UInt8(exponent + 128)]
      }
    }
    return bytes
  }

  /// An OpenEXR picture of rows of 32-bit values that are not compressed.
  ///
  /// Source: “OpenEXR File Layout”.
  ///
  /// - Parameter hasAlpha: whether band 3 is alpha, with which the others are multiplied.
  package static func openEXR(
    width: Int, height: Int, hasAlpha: Bool = false, display: [Int]? = nil, columns: Int? = nil,
    _ value: (_ x: Int, _ y: Int, _ band: Int) -> Float
  ) -> [UInt8] {
    func attribute(_ name: String, _ type: String, _ value: [UInt8]) -> [UInt8] {
      Array(name.utf8) + [0] + Array(type.utf8) + [0] + little(value.count, 4) + value
    }
    let one = little(Int(Float(1).bitPattern), 4)
    let box = little(0, 8) + little((columns ?? width) - 1, 4) + little(height - 1, 4)
    // In the order of the alphabet, each 32-bit floating point.
    let names = (hasAlpha ? ["A"] : []) + ["B", "G", "R"]
    let channels = names.flatMap { name -> [UInt8] in
      Array(name.utf8) + [0] + little(2, 4) + little(0, 4) + little(1, 4) + little(1, 4)
    }
    var header = little(20_000_630, 4) + little(2, 4)
    header += attribute("channels", "chlist", channels + [0])
    header += attribute("compression", "compression", [0])
    header +=
      attribute("dataWindow", "box2i", box)
      + attribute("displayWindow", "box2i", display.map { $0.flatMap { little($0, 4) } } ?? box)
    header += attribute("lineOrder", "lineOrder", [0])
    header += attribute("pixelAspectRatio", "float", one)
    header += attribute("screenWindowCenter", "v2f", little(0, 8))
    header += attribute("screenWindowWidth", "float", one) + [0]
    let row = width * names.count * 4
    let start = header.count + height * 8
    var bytes = header
    for y in 0..<height { bytes += little(start + y * (row + 8), 8) }
    for y in 0..<height {
      bytes += little(y, 4) + little(row, 4)
      for band in (0..<names.count).reversed() {
        for x in 0..<width { bytes += little(Int(value(x, y, band).bitPattern), 4) }
      }
    }
    return bytes
  }

  /// A FITS picture of bytes, whose first row is at the bottom.
  ///
  /// Source: “Definition of the Flexible Image Transport System”, version 4.0.
  package static func fits(
    width: Int, height: Int, _ value: (_ x: Int, _ y: Int) -> UInt8
  ) -> [UInt8] {
    func card(_ name: String, _ value: String) -> [UInt8] {
      let text = Array((name + String(repeating: " ", count: 8 - name.utf8.count) + "= ").utf8)
      let number = [UInt8](repeating: 32, count: 20 - value.utf8.count) + Array(value.utf8)
      return text + number + [UInt8](repeating: 32, count: 50)
    }
    func padded(_ bytes: [UInt8], with byte: UInt8) -> [UInt8] {
      bytes + [UInt8](repeating: byte, count: (2880 - bytes.count % 2880) % 2880)
    }
    let cards =
      card("SIMPLE", "T") + card("BITPIX", "8") + card("NAXIS", "2") + card("NAXIS1", "\(width)")
      + card("NAXIS2", "\(height)") + Array("END".utf8)
    let rows = (0..<height).reversed().flatMap { y in (0..<width).map { value($0, y) } }
    return padded(cards, with: 32) + padded(rows, with: 0)
  }

  /// Four rectangles of the corners' colours, with the size in points.
  package static func svg(width: Int, height: Int) -> [UInt8] {
    let parts = zip(corners, [(0, 0), (1, 0), (0, 1), (1, 1)]).map { color, place in
      "<rect x=\"\(place.0 * width / 2)\" y=\"\(place.1 * height / 2)\" width=\"\(width / 2)\" "
        + "height=\"\(height / 2)\" fill=\"rgb(\(color[0]),\(color[1]),\(color[2]))\"/>"
    }
    return svg(parts.joined(), size: "width=\"\(width)\" height=\"\(height)\"")
  }

  /// An SVG with some content.
  package static func svg(_ content: String, size: String, before: String = "") -> [UInt8] {
    Array(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      \(before)<svg xmlns="http://www.w3.org/2000/svg" \
      xmlns:xlink="http://www.w3.org/1999/xlink" \(size)>\(content)</svg>

      """.utf8)
  }

  /// A page of a PDF.
  package struct Page: Sendable {
    /// Width and height in points.
    package var size: (String, String)
    /// Operators that draw it.
    package var content: String

    package init(_ size: (String, String), _ content: String) {
      (self.size, self.content) = (size, content)
    }
  }

  /// Four rectangles of the corners' colours; rows count from the bottom.
  package static func pdfPage(width: Int, height: Int) -> Page {
    let parts = zip(corners, [(0, 1), (1, 1), (0, 0), (1, 0)]).map { color, place in
      "\(color.map { "\(Double($0) / 255)" }.joined(separator: " ")) rg "
        + "\(place.0 * width / 2) \(place.1 * height / 2) \(width / 2) \(height / 2) re f\n"
    }
    return Page(("\(width)", "\(height)"), parts.joined())
  }

  /// A PDF of pages; source: ISO 32000-1.
  ///
  /// - Parameter trailer: more members of the trailer.
  package static func pdf(pages: [Page], trailer: String = "") -> [UInt8] {
    let kids = pages.indices.map { "\(3 + 2 * $0) 0 R" }.joined(separator: " ")
    var objects = [
      "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count \(pages.count)/Kids[\(kids)]>>",
    ]
    for (index, page) in pages.enumerated() {
      objects.append(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 \(page.size.0) \(page.size.1)]"
          + "/Contents \(4 + 2 * index) 0 R/Resources<<>>>>")
      objects.append(
        "<</Length \(page.content.utf8.count)>>stream\n\(page.content)\nendstream")
    }
    var text = "%PDF-1.4\n"
    var table = "0000000000 65535 f \n"
    for (index, object) in objects.enumerated() {
      let offset = String(text.utf8.count)
      table += String(repeating: "0", count: 10 - offset.count) + offset + " 00000 n \n"
      text += "\(index + 1) 0 obj\n\(object)\nendobj\n"
    }
    let size = objects.count + 1
    return Array(
      (text + "xref\n0 \(size)\n\(table)trailer<</Size \(size)/Root 1 0 R\(trailer)>>\n"
        + "startxref\n\(text.utf8.count)\n%%EOF\n").utf8)
  }

  private static func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }
}
