import Fixtures
import PipelineModel
import Testing
import Vips

@Suite("Identify: motion photos", .timeLimit(.minutes(2)))
struct MotionPhotoTests {
  let run: PluginRun
  private let film =
    Pictures.box("ftyp", Array("isom".utf8) + Pictures.big(0, 4))
    + Pictures.box("mdat", [UInt8](repeating: 7, count: 100))
    + Pictures.box("moov", Pictures.box("mvhd", [UInt8](repeating: 0, count: 100)))

  init() throws { run = try PluginRun("identify") }

  /// A JPEG with XMP.
  private func jpeg(_ attributes: String, _ elements: String = "") throws -> [UInt8] {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF \
      xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" \
      xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" \
      xmlns:Container="http://ns.google.com/photos/1.0/container/" \
      xmlns:Item="http://ns.google.com/photos/1.0/container/item/" \(attributes)>\
      \(elements)</rdf:Description></rdf:RDF></x:xmpmeta>
      """
    let content = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(packet.utf8)
    let plain = try Pictures.file(try Pictures.picture(width: 60, height: 40), ".jpg[strip]")
    return plain[..<2] + [0xFF, 0xE1] + Pictures.big(content.count + 2, 2) + content + plain[2...]
  }

  private func directory(_ parts: [String]) -> String {
    "<Container:Directory><rdf:Seq>"
      + parts.map { "<rdf:li rdf:parseType=\"Resource\">\($0)</rdf:li>" }.joined()
      + "</rdf:Seq></Container:Directory>"
  }

  private func expect(
    _ bytes: [UInt8], offset: Int?, type: String = "video/mp4",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let found = try run.facts(bytes)["motionPhoto"]
    let wanted: JSONValue? = offset.map {
      [
        "offset": .integer($0), "length": .integer(film.count), "mediaType": .string(type),
      ]
    }
    #expect(found == wanted, sourceLocation: sourceLocation)
  }

  @Test("The list of a file's parts tells where the film is, as attributes and as elements")
  func listed() throws {
    let forms = [
      [
        #"<Container:Item Item:Mime="image/jpeg" Item:Semantic="Primary" Item:Padding="5"/>"#,
        #"<Container:Item Item:Semantic="GainMap" Item:Length="30"/>"#,
        #"<Container:Item Item:Semantic="MotionPhoto" Item:Length="\#(film.count)"/>"#,
      ],
      [
        "<Container:Item rdf:parseType=\"Resource\"><Item:Semantic>Primary</Item:Semantic></Container:Item>",
        "<Container:Item rdf:parseType=\"Resource\"><Item:Semantic>MotionPhoto</Item:Semantic>"
          + "<Item:Length>\(film.count)</Item:Length></Container:Item>",
      ],
    ]
    for parts in forms {
      let picture = try jpeg("GCamera:MotionPhoto=\"1\"", directory(parts))
      let more = [UInt8](repeating: 9, count: 35)
      try expect(picture + more + film, offset: picture.count + more.count)
      try expect(picture, offset: nil)
    }
    let denied = try jpeg("GCamera:MotionPhoto=\"0\"", directory(forms[0]))
    try expect(denied + film, offset: nil)
  }

  @Test("So does the distance from the end, as older cameras write it")
  func microVideo() throws {
    let picture = try jpeg(
      "GCamera:MicroVideo=\"1\" GCamera:MicroVideoOffset=\"\(film.count)\"")
    try expect(picture + film, offset: picture.count)
    let quickTime = film.prefix(8) + Array("qt  ".utf8) + film.dropFirst(12)
    try expect(picture + quickTime, offset: picture.count, type: "video/quicktime")
    // What is there is no film.
    try expect(picture + [UInt8](repeating: 0, count: film.count), offset: nil)
    for wrong in ["0", "-5", "99999999", "9223372036854775807", "x"] {
      let picture = try jpeg("GCamera:MicroVideo=\"1\" GCamera:MicroVideoOffset=\"\(wrong)\"")
      try expect(picture + film, offset: nil)
    }
  }

  /// What Samsung's telephones append, with one block.
  private func samsung(type: Int = 0x0A30, distance: Int? = nil) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] { Pictures.big(value, count).reversed() }
    let name = Array("MotionPhoto_Data".utf8)
    let block = little(0, 2) + little(type, 2) + little(name.count, 4) + name + film
    let directory =
      Array("SEFH".utf8) + little(106, 4) + little(1, 4) + little(0, 2) + little(type, 2)
      + little(distance ?? block.count, 4) + little(block.count, 4)
    return block + directory + little(directory.count, 4) + Array("SEFT".utf8)
  }

  @Test("So does the directory at the end of a file by Samsung")
  func samsung() throws {
    let picture = try Pictures.jpeg(width: 60, height: 40)
    try expect(picture + samsung(), offset: picture.count + 8 + 16)
    try expect(picture + samsung(type: 0x0A01), offset: nil)
    for distance in [0, 10, 1 << 31] {
      try expect(picture + samsung(distance: distance), offset: nil)
    }
  }

  @Test("In HEIC the film is a box of its own")
  func heic() throws {
    let picture = try Pictures.file(try Pictures.picture(width: 64, height: 64), ".heic")
    try expect(picture + Pictures.box("mpvd", film), offset: picture.count + 8)
    try expect(picture + Pictures.box("mpvd", [1, 2, 3, 4]), offset: nil)
    try expect(picture, offset: nil)
  }

  @Test("A film or another picture is no motion photo")
  func others() throws {
    try expect(film, offset: nil)
    try expect(
      try Pictures.file(try Pictures.picture(width: 60, height: 40), ".png") + film, offset: nil)
  }
}
