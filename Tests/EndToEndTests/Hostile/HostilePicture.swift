import Fixtures
import PipelineModel

/// Files that would lead a decoder astray: to other files, to other machines, to nowhere.
enum HostilePicture {
  /// Kinds that no stage decodes, under the name of one that is; then kinds that are decoded.
  static func all() throws -> [(name: String, bytes: [UInt8])] {
    disguised + [
      ("offsets.tif", tiff), ("reference.heic", heic), ("entities.jpg", try linkedJPEG()),
    ]
  }

  /// Those that are named `.jpg` and are none.
  static let disguised: [(name: String, bytes: [UInt8])] = [
    ("drawing.jpg", Array(drawing.utf8)),
    ("document.jpg", Array(document.utf8)),
    ("matrix.jpg", Array("2 2\n1 2\n3 4\n".utf8)),
    ("portable.jpg", Array("P6 4 4 255\n".utf8) + [UInt8](repeating: 99, count: 48)),
    ("workspace.jpg", matlab),
  ]

  /// An SVG that shows other files and asks other machines.
  static let drawing = """
    <?xml version="1.0"?>
    <!DOCTYPE svg [<!ENTITY secret SYSTEM "file:///etc/passwd">]>
    <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
      width="64" height="64"><style>@import url("http://127.0.0.1:9/style.css");</style>
    <image width="64" height="64" xlink:href="file:///etc/passwd"/>
    <image width="64" height="64" xlink:href="http://127.0.0.1:9/picture.png"/>
    <text>&secret;</text></svg>
    """

  /// A PDF that shows another file and asks another machine.
  private static let document = """
    %PDF-1.4
    1 0 obj << /Type /Catalog /Pages 2 0 R /OpenAction 5 0 R >> endobj
    2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
    3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R >> endobj
    4 0 obj << /Length 0 /F (/etc/passwd) >> stream
    endstream endobj
    5 0 obj << /S /URI /URI (http://127.0.0.1:9/) >> endobj
    trailer << /Root 1 0 R >>
    %%EOF
    """

  /// A MAT-file of level 5 with a matrix of bytes. Source: MAT-File Format, section 1.
  private static let matlab: [UInt8] =
    Array("MATLAB 5.0 MAT-file, Platform: GLNXA64".utf8) + [UInt8](repeating: 0x20, count: 86)
    + little(0x0100, 2) + Array("IM".utf8) + little(14, 4) + little(48, 4)
    + little(6, 4) + little(8, 4) + little(9, 8) + little(5, 4) + little(8, 4) + little(2, 4)
    + little(2, 4) + little(1, 4) + little(1, 4) + Array("a".utf8) + little(0, 7)
    + little(2, 4) + little(4, 4) + [1, 2, 3, 4] + little(0, 4)

  /// A TIFF whose offsets and counts lead behind its end, and whose directories form a ring.
  private static let tiff: [UInt8] = {
    func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: Int) -> [UInt8] {
      little(tag, 2) + little(type, 2) + little(count, 4) + little(value, 4)
    }
    let entries = [
      entry(0x0100, 4, 1, 64), entry(0x0101, 4, 1, 64), entry(0x0102, 3, 3, 0xFFFF_FFF0),
      entry(0x0103, 3, 1, 1), entry(0x0106, 3, 1, 2), entry(0x010F, 2, 0x7FFF_FFFF, 8),
      entry(0x0111, 4, 0x4000_0000, 0xFFFF_FF00), entry(0x0115, 3, 1, 3),
      entry(0x0116, 4, 1, 0xFFFF_FFFF), entry(0x0117, 4, 0x4000_0000, 0x7FFF_FFF0),
      entry(0x014A, 4, 0x1000_0000, 8), entry(0x02BC, 1, 0xFFFF_FFFF, 16),
      entry(0x8769, 4, 1, 8), entry(0x8773, 7, 0x0640_0000, 0x100), entry(0x8825, 4, 1, 8),
    ]
    return Array("II".utf8) + little(42, 2) + little(8, 4) + little(entries.count, 2)
      + entries.flatMap(\.self) + little(8, 4)
  }()

  /// A HEIC whose pixels are said to be in another file, or with another machine.
  ///
  /// Source: ISO/IEC 14496-12, sections 8.7.2 and 8.11.3: an item names the data
  /// reference that its extents are in.
  private static let heic: [UInt8] = {
    let references =
      big(0, 4) + big(2, 4) + box("url ", big(0, 4) + Array("file:///etc/passwd\0".utf8))
      + box("url ", big(0, 4) + Array("http://127.0.0.1:9/picture.heic\0".utf8))
    func item(_ number: Int) -> [UInt8] {
      // Offset and length of four bytes each; construction from the file, reference `number`.
      big(number, 2) + big(0, 2) + big(number, 2) + big(1, 2) + big(0xFFFF_FF00, 4)
        + big(0x7FFF_FFFF, 4)
    }
    func information(_ number: Int) -> [UInt8] {
      box("infe", [2, 0, 0, 0] + big(number, 2) + big(0, 2) + Array("hvc1\0".utf8))
    }
    let properties =
      box("ipco", box("ispe", big(0, 4) + big(60_000, 4) + big(60_000, 4)))
      + box("ipma", big(0, 4) + big(2, 4) + big(1, 2) + [1, 0x81] + big(2, 2) + [1, 0x81])
    let meta =
      big(0, 4) + box("hdlr", big(0, 8) + Array("pict".utf8) + big(0, 13))
      + box("dinf", box("dref", references)) + box("pitm", big(0, 4) + big(1, 2))
      + box("iinf", big(0, 4) + big(2, 2) + information(1) + information(2))
      + box("iloc", [1, 0, 0, 0, 0x44, 0] + big(2, 2) + item(1) + item(2))
      + box("iprp", properties)
    return box("ftyp", Array("heic".utf8) + big(0, 4) + Array("mif1heic".utf8))
      + box("meta", meta)
  }()

  /// A picture whose XMP includes another file and a page of another machine.
  private static func linkedJPEG() throws -> [UInt8] {
    let packet = """
      <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
      <!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">
      <!ENTITY % more SYSTEM "http://127.0.0.1:9/more.dtd"> %more;]>
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
      xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
      xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="&secret;"/></rdf:RDF></x:xmpmeta>
      <?xpacket end="w"?>
      """
    return Pictures.insert(
      Array("http://ns.adobe.com/xap/1.0/\0\(packet)".utf8),
      into: try Pictures.jpeg(width: 64, height: 48))
  }
}
