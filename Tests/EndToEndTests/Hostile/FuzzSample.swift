import Fixtures
import PipelineModel
import Testing

/// A whole file of at most 2 KiB, of a kind that some bundled plugin reads.
struct FuzzSample: Sendable {
  /// What it is called in messages and file names.
  let name: String
  /// What its files' names end with.
  let suffix: String
  /// The file.
  let bytes: [UInt8]

  /// One of each kind.
  static func all() throws -> [FuzzSample] {
    let samples = try pictures() + written()
    for sample in samples {
      try #require(
        (16...2048).contains(sample.bytes.count), "\(sample.name): \(sample.bytes.count) bytes")
    }
    return samples
  }

  /// Those that libvips makes.
  private static func pictures() throws -> [FuzzSample] {
    let picture = try Pictures.picture(width: 16, height: 12, grain: 0)
    func sample(_ name: String, _ suffix: String, _ options: String = "") throws -> FuzzSample {
      FuzzSample(
        name: name, suffix: suffix, bytes: try Pictures.file(picture, ".\(suffix)\(options)"))
    }
    let colors: [[UInt8]] = [[200, 40, 40], [40, 180, 60], [50, 70, 200]]
    return [
      try sample("jpeg", "jpg", "[Q=75,strip]"),
      try sample("progressive-jpeg", "jpg", "[Q=75,strip,interlace]"),
      FuzzSample(
        name: "exif-jpeg", suffix: "jpg",
        bytes: try Pictures.jpeg(
          width: 16, height: 12, exif: PicturesExif(orientation: 6, offset: "+02:00"))),
      try sample("png", "png", "[strip]"),
      try sample("interlaced-png", "png", "[strip,interlace]"),
      try sample("palette-png", "png", "[strip,palette]"),
      try sample("gif", "gif"),
      FuzzSample(
        name: "animated-gif", suffix: "gif",
        bytes: try Pictures.frames(colors, width: 16, height: 12, as: ".gif")),
      try sample("lossy-webp", "webp", "[Q=60,strip]"),
      try sample("lossless-webp", "webp", "[lossless,strip]"),
      try sample("tiff", "tif", "[strip]"),
      try sample("lzw-tiff", "tif", "[strip,compression=lzw,predictor=horizontal]"),
      FuzzSample(
        name: "heic", suffix: "heic",
        bytes: try Pictures.heic(
          width: 64, height: 64, orientation: 6, exif: true, container: false)),
      FuzzSample(
        name: "avif", suffix: "avif",
        bytes: try Pictures.file(
          Pictures.picture(width: 64, height: 64, grain: 0), ".avif[Q=40,strip]")),
    ]
  }

  /// Those that are written by hand, because nothing here makes them.
  private static func written() -> [FuzzSample] {
    let rows = Pictures.pixels(width: 8, height: 6)
    // BITMAPFILEHEADER and BITMAPINFOHEADER, 24 bits a pixel.
    let bitmap =
      Array("BM".utf8) + little(54 + rows.count, 4) + little(0, 4) + little(54, 4) + little(40, 4)
      + little(8, 4) + little(6, 4) + little(1, 2) + little(24, 2) + little(0, 4)
      + little(rows.count, 4) + [UInt8](repeating: 0, count: 16) + rows
    // Adobe Photoshop File Formats: header, colour modes, one resource (a caption), layers, pixels.
    let caption: [UInt8] = [0x1C, 2, 120, 0, 5] + Array("words".utf8)
    let resource =
      Array("8BIM".utf8) + big(0x0404, 2) + big(0, 2) + big(caption.count, 4) + caption
    let photoshop =
      Array("8BPS".utf8) + big(1, 2) + [UInt8](repeating: 0, count: 6) + big(3, 2) + big(6, 4)
      + big(8, 4) + big(8, 2) + big(3, 2) + big(0, 4) + big(resource.count, 4) + resource
      + big(0, 4) + big(0, 2) + rows
    // ISO/IEC 14496-12: the brand, then a film without tracks.
    let film =
      box("ftyp", Array("isom".utf8) + big(512, 4) + Array("isomiso2mp41".utf8))
      + box("moov", box("mvhd", big(0, 12) + big(1000, 4) + big(2000, 4) + big(0, 80)))
      + box("mdat", rows)
    return [
      FuzzSample(name: "bitmap", suffix: "bmp", bytes: bitmap),
      FuzzSample(name: "photoshop", suffix: "psd", bytes: photoshop),
      FuzzSample(name: "sidecar", suffix: "xmp", bytes: Array(sidecar.utf8)),
      FuzzSample(name: "document", suffix: "pdf", bytes: Array(document.utf8)),
      FuzzSample(name: "drawing", suffix: "svg", bytes: Array(HostilePicture.drawing.utf8)),
      FuzzSample(name: "portable", suffix: "ppm", bytes: Array("P6 8 6 255\n".utf8) + rows),
      FuzzSample(name: "film", suffix: "mp4", bytes: film),
    ]
  }

  private static let sidecar = """
    <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
    rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>
    <rdf:li>harvest</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>
    <?xpacket end="w"?>
    """

  private static let document = """
    %PDF-1.4
    1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
    2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
    3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R >> endobj
    4 0 obj << /Length 30 >> stream
    BT /F1 12 Tf (Some text) Tj ET
    endstream endobj
    trailer << /Root 1 0 R >>
    %%EOF
    """
}

/// A box of ISO/IEC 14496-12: its size, its name, its content.
func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
  big(content.count + 8, 4) + Array(name.utf8) + content
}

/// A number in big-endian order; the size may be any.
func big(_ value: Int, _ size: Int) -> [UInt8] { little(value, size).reversed() }

/// A number in little-endian order; the size may be any.
func little(_ value: Int, _ size: Int) -> [UInt8] {
  (0..<size).map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> (8 * $0)) : 0 }
}
