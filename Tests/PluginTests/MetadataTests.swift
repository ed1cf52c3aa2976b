#if METADATA
  import Engine
  import Fixtures
  import Foundation
  import PipelineModel
  import PipelinePlugin
  import Testing
  import Vips

  @Suite("Metadata", .timeLimit(.minutes(2)))
  struct MetadataTests {
    private func facts(_ sample: MetadataSample, options: JSONValue = [:]) throws -> JSONValue {
      let result = try PluginRun("metadata").process(try sample.jpeg(), options: options)
      guard case .done(let facts, _) = result else { throw Unexpected("\(result)") }
      return facts
    }

    @Test("EXIF has the types of its standard and its names")
    func exif() throws {
      var sample = MetadataSample()
      sample.image = [
        .text(0x010F, "Canon"), .text(0x0110, " EOS 5D \n"), .short(0x0112, 6),
        .rational(0x011A, (72, 1)), .bytes(0x8298, Array("Ann\0Ben\0".utf8)),
        .text(0x0132, "2021:02:29 12:00:00"),
      ]
      sample.photo = [
        .rational(0x829A, (1, 250)), .rational(0x829D, (28, 10)), .short(0x8827, 100),
        .text(0x9003, "2020:05:01 12:00:00"), .undefined(0x9000, Array("0232".utf8)),
        .undefined(0x9101, [1, 2, 3, 0]), .signedRational(0x9204, -2, 3),
        .short(0x9214, 10, 20, 30, 40),
        .rational(0xA432, (24, 1), (70, 1), (0, 0), (0, 0)),
        .undefined(0x9286, Array("ASCII\0\0\0A word  ".utf8)), .undefined(0xA300, [3]),
        .rational(0x9206, (0xFFFF_FFFF, 1)), .undefined(0x927C, Array("secret maker".utf8)),
      ]
      #expect(
        try facts(sample) == [
          "exif": [
            "Make": "Canon", "Model": "EOS 5D", "Orientation": 6, "XResolution": 72,
            "Copyright": ["Ann", "Ben"], "ExposureTime": 0.004, "FNumber": 2.8,
            "ISOSpeedRatings": 100, "DateTimeOriginal": "2020-05-01T12:00:00",
            "ExifVersion": "0232", "ComponentsConfiguration": [1, 2, 3, 0],
            "ExposureBiasValue": .number(-2.0 / 3), "SubjectArea": [10, 20, 30, 40],
            "LensSpecification": [24, 70, .null, .null], "UserComment": "A word", "FileSource": 3,
          ]
        ])
    }

    @Test("A time has its fraction and its zone where the camera wrote them")
    func zone() throws {
      var sample = MetadataSample()
      sample.photo = [
        .text(0x9003, "2020:05:01 12:00:00"), .text(0x9011, "+02:00"), .text(0x9291, "25"),
        .text(0x9004, "2020:05:01 12:00:01"), .text(0x9012, "nonsense"),
      ]
      let exif = try facts(sample)["exif"]
      #expect(exif?["DateTimeOriginal"] == "2020-05-01T12:00:00.25+02:00")
      #expect(exif?["DateTimeDigitized"] == "2020-05-01T12:00:01")
    }

    @Test("Text that is not UTF-8 is read as ISO 8859-1, and Windows' tags as UTF-16")
    func encodings() throws {
      var sample = MetadataSample()
      sample.image = [
        .bytes(0x010E, [0x4D, 0xFC, 0x6E, 0x07, 0x63, 0x68, 0x65, 0x6E, 0]),
        .text(0x013B, "Mün\u{1B}[31mchen"),
        .byte(0x9C9B, [0x4D, 0, 0xFC, 0, 0x3D, 0xD8, 0x00, 0xDE, 0, 0]),
      ]
      let exif = try facts(sample)["exif"]
      #expect(exif?["ImageDescription"] == "München")
      #expect(exif?["Artist"] == "Mün[31mchen")
      #expect(exif?["XPTitle"] == "Mü😀")
    }

    @Test(
      "A place is in decimal degrees with its sign",
      arguments: [
        ("N", "E", 48.137, 11.575), ("S", "W", -48.137, -11.575), ("N", "W", 48.137, -11.575),
        ("S", "E", -48.137, 11.575),
      ])
    func place(north: String, east: String, latitude: Double, longitude: Double) throws {
      var sample = MetadataSample()
      sample.gps =
        MetadataSample.place(
          [(48, 1), (8, 1), (1320, 100)], north, [(11, 1), (345, 10), (0, 0)], east)
        + [
          .byte(5, [1]), .rational(6, (5192, 10)), .rational(7, (10, 1), (2, 1), (35, 10)),
          .text(29, "2020:05:01"), .rational(17, (1805, 10)), .text(16, "T"),
        ]
      let gps = try #require(try facts(sample)["gps"]?.object)
      #expect(abs(try #require(gps["latitude"]?.double) - latitude) < 1e-9)
      #expect(abs(try #require(gps["longitude"]?.double) - longitude) < 1e-9)
      #expect(gps["altitude"] == -519.2 && gps["timestamp"] == "2020-05-01T10:02:03.500Z")
      #expect(gps["GPSImgDirection"] == 180.5 && gps["GPSImgDirectionRef"] == "T")
      #expect(gps["GPSDateStamp"] == "2020-05-01")
      #expect(gps.keys.count == 7)
    }

    @Test("A place that is not on Earth, has no side, or is not known is left out")
    func noPlace() throws {
      var sample = MetadataSample(image: [.text(0x010F, "Canon")])
      sample.gps = MetadataSample.place([(91, 1)], "N", [(11, 1)], "E")
      var found = try facts(sample)
      #expect(found["gps"] == nil)
      #expect(found["problem"]?.string?.contains("91.0, 11.0 is left out") == true)
      sample.gps = MetadataSample.place([(48, 1)], "?", [(11, 1)], "E")
      found = try facts(sample)
      #expect(found["gps"]?["latitude"] == nil && found["gps"]?["longitude"] == nil)
      sample.gps = MetadataSample.place([(0, 0), (0, 0), (0, 0)], "N", [(0, 0)], "E")
      found = try facts(sample)
      #expect(found["gps"]?["latitude"] == nil && found["problem"] == nil)
    }

    @Test("IPTC's repeatable datasets are lists, its dates and times RFC 3339")
    func iptc() throws {
      var sample = MetadataSample()
      func set(_ number: Int, _ text: String) -> (Int, [UInt8]) { (number, Array(text.utf8)) }
      sample.iptc = [
        set(5, "A title"), set(25, "a"), set(25, "b, c"), set(55, "20200501"),
        set(60, "120000+0200"), (120, [0x4D, 0xFC]), set(80, "Ann"), set(105, "Headline"),
      ]
      #expect(
        try facts(sample) == [
          "iptc": [
            "ObjectName": "A title", "Keywords": ["a", "b, c"], "DateCreated": "2020-05-01",
            "TimeCreated": "12:00:00+02:00", "Caption": "Mü", "Byline": ["Ann"],
            "Headline": "Headline",
          ]
        ])
    }

    @Test("XMP has lists, languages, numbers and paths")
    func xmp() throws {
      var sample = MetadataSample()
      sample.xmp = """
        <dc:subject><rdf:Bag><rdf:li>a, b</rdf:li><rdf:li>c</rdf:li></rdf:Bag></dc:subject>\
        <dc:title><rdf:Alt><rdf:li xml:lang="x-default">Title, one</rdf:li>\
        <rdf:li xml:lang="de">Titel</rdf:li></rdf:Alt></dc:title><xmp:Rating>5</xmp:Rating>\
        <xmp:CreateDate>2020-05-01T12:00:00</xmp:CreateDate><exif:FNumber>28/10</exif:FNumber>\
        <xmpRights:Marked>True</xmpRights:Marked><own:Weight>12</own:Weight>\
        <xmpMM:History><rdf:Seq><rdf:li stEvt:action="saved"/></rdf:Seq></xmpMM:History>
        """
      sample.namespaces = "xmlns:own=\"http://example.com/own/\""
      #expect(
        try facts(sample) == [
          "xmp": [
            "dc:subject": ["a, b", "c"], "dc:title": ["x-default": "Title, one", "de": "Titel"],
            "xmp:Rating": 5, "xmp:CreateDate": "2020-05-01T12:00:00", "exif:FNumber": 2.8,
            "xmpRights:Marked": true, "own:Weight": "12", "xmpMM:History[1]/stEvt:action": "saved",
          ]
        ])
    }

    @Test("Only the chosen families are read, and coordinates nowhere without gps")
    func families() throws {
      var sample = MetadataSample(image: [.text(0x010F, "Canon")])
      sample.gps = MetadataSample.place([(48, 1)], "N", [(11, 1)], "E")
      sample.xmp = "<exif:GPSLatitude>48,0.0N</exif:GPSLatitude><xmp:Rating>5</xmp:Rating>"
      #expect(
        try facts(sample, options: ["families": ["exif", "xmp"]]) == [
          "exif": ["Make": "Canon"], "xmp": ["xmp:Rating": 5],
        ])
      #expect(
        try facts(sample, options: ["families": ["gps"]]) == [
          "gps": ["latitude": 48, "longitude": 11]
        ])
      let failure = #expect(throws: PluginFailure.self) {
        try PluginRun("metadata").backend.makeInstance(options: ["families": ["exif", "mp3"]])
      }
      #expect(failure?.class == .environment && failure?.reason.contains("mp3") == true)
    }

    @Test("A picture without metadata has none, and its job is done")
    func nothing() throws {
      #expect(try facts(MetadataSample()) == [:])
    }

    @Test("Other formats are read as well", arguments: [".png", ".webp", ".avif"])
    func formats(suffix: String) throws {
      let block = PicturesExif(dateTimeOriginal: "2024:05:06 07:08:09").bytes
      let bytes = try Pictures.picture(width: 32, height: 24).editingMetadata { editor in
        editor.set(Picture.Field.exif, block)
      }.encoded(as: suffix)
      let found = try PluginRun("metadata").facts(bytes)
      #expect(found["exif"]?["DateTimeOriginal"] == "2024-05-06T07:08:09", "\(found)")
      #expect(found["gps"]?["latitude"] != nil)
    }

    @Test("A TIFF has its metadata in its own directories")
    func tiff() throws {
      var sample = MetadataSample(image: [.text(0x010F, "Canon"), .short(0x0100, 7)])
      sample.photo = [.rational(0x829D, (28, 10))]
      let found = try PluginRun("metadata").facts(sample.tiff)
      #expect(found == ["exif": ["Make": "Canon", "ImageWidth": 7, "FNumber": 2.8]])
    }

    @Test("No file makes a large record, and what was left out is counted")
    func bounds() throws {
      let run = try PluginRun("metadata")
      var sample = MetadataSample(image: [.text(0x010F, "Canon")])
      sample.image.append(.text(0x010E, String(repeating: "é", count: 20_000)))
      sample.photo = [
        .text(0x9003, "2020:05:01 12:00:00"),
        .undefined(0x9286, [UInt8](repeating: 65, count: 70_000)),
      ]
      guard case .done(let facts, _) = try run.process(sample.tiff) else {
        throw Unexpected("not done")
      }
      let description = try #require(facts["exif"]?["ImageDescription"]?.string)
      #expect(description.utf8.count == 16 << 10 && description.allSatisfy { $0 == "é" })
      #expect(facts["exif"]?["DateTimeOriginal"] != nil && facts["exif"]?["UserComment"] == nil)
      #expect(facts["leftOut"] == 2)

      sample = MetadataSample(image: [.text(0x010F, "Canon")])
      let bag = (0..<1_000).map { "<rdf:li>word \($0)</rdf:li>" }.joined()
      sample.xmp = "<dc:subject><rdf:Bag>\(bag)</rdf:Bag></dc:subject>"
      let many = try self.facts(sample)
      #expect(many["xmp"]?["dc:subject"]?.array?.count == 256 && many["leftOut"] == 744)

      sample.xmp = (0..<1_500).map { "<own:n\($0)>x</own:n\($0)>" }.joined()
      sample.namespaces = "xmlns:own=\"http://example.com/own/\""
      let names = try self.facts(sample)
      #expect(names["xmp"]?.object?.count == 1_000 && names["leftOut"] == 500)
      #expect(names["exif"] == ["Make": "Canon"])
    }

    @Test("All texts together are bounded, and the place is kept")
    func total() throws {
      var sample = MetadataSample()
      sample.gps = MetadataSample.place([(48, 1)], "N", [(11, 1)], "E")
      // Thirty tags of texts of 15,000 bytes each.
      let tags = [0x010E, 0x010F, 0x0110, 0x0131, 0x013B, 0x013C, 0x8298, 0x0132, 0xC614, 0xC62F]
      sample.image = tags.map { .text($0, String(repeating: "x", count: 15_000)) }
      sample.photo = [0x9290, 0xA420, 0xA430, 0xA431, 0xA433, 0xA434, 0xA435, 0x8824, 0xA004].map {
        .text($0, String(repeating: "y", count: 15_000))
      }
      guard case .done(let facts, _) = try PluginRun("metadata").process(sample.tiff) else {
        throw Unexpected("not done")
      }
      #expect(facts["gps"]?["latitude"] == 48)
      #expect(try JSONText.encode(facts).utf8.count < 300_000)
      #expect(try JSONText.encode(facts).utf8.count > 200_000)
    }

    @Test(
      "Directories that lie are read as far as they can be, and the others whole",
      arguments: [
        MetadataSample.Entry(0x829D, type: 5, count: 0xFFFF_FFFF, [0, 0, 0, 1, 0]),
        MetadataSample.Entry(0x829D, type: 99, count: 3, [1, 2, 3, 4, 5]),
        MetadataSample.Entry(0x829D, type: 2, count: 5, Array("text!".utf8)),
        MetadataSample.Entry(0x829D, type: 5, count: 1, [1, 0, 0, 0, 0, 0, 0, 0]),
        MetadataSample.Entry(0x9286, type: 7, count: 3, [1, 2, 3]),
        MetadataSample.Entry(0x9286, type: 5, count: 1, [1, 0, 0, 0, 2, 0, 0, 0]),
        MetadataSample.Entry(0x8769, type: 4, count: 1, [8, 0, 0, 0]),
        MetadataSample.Entry(0x9003, type: 3, count: 1, [8, 0]),
        MetadataSample.Entry(0xA300, type: 12, count: 1, [1, 2, 3, 4, 5, 6, 7, 8]),
      ])
    func hostile(entry: MetadataSample.Entry) throws {
      var sample = MetadataSample(image: [.text(0x010F, "Canon")])
      sample.photo = [entry, .short(0x8827, 100)]
      let found = try facts(sample)
      #expect(found["exif"]?["Make"] == "Canon")
      #expect(found["exif"]?["FNumber"] == nil)
      if let problem = found["problem"]?.string {
        try PluginRun("metadata").expectSentence(problem)
      }
    }

    @Test("What a damaged part says is a problem, and the rest is read")
    func problem() throws {
      var sample = MetadataSample(image: [.text(0x010F, "Canon")])
      sample.photo = [MetadataSample.Entry(0x829D, type: 5, count: 999, [0, 0, 0, 1, 0])]
      let found = try facts(sample)
      #expect(found["exif"]?["Make"] == "Canon")
      let problem = try #require(found["problem"]?.string)
      #expect(problem.contains("Photo"))
      // What one file was told of is not told of the next one.
      #expect(try facts(MetadataSample(image: [.text(0x010F, "Canon")]))["problem"] == nil)
    }

    private static let identifier = "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9"

    /// An iPhone's maker note with one text, whose offsets begin at the note.
    private static func note(_ text: String, tag: Int = 0x11, type: Int = 2) -> [UInt8] {
      let value = Array(text.utf8) + [0]
      let entry = big(tag, 2) + big(type, 2) + big(value.count, 4) + big(14 + 2 + 12 + 4, 4)
      return Array("Apple iOS\0\0\u{1}MM".utf8) + big(1, 2) + entry + big(0, 4) + value
    }

    @Test("The picture of a Live Photo has the identifier of its film")
    func livePicture() throws {
      var sample = MetadataSample()
      sample.photo = [.undefined(0x927C, Self.note(Self.identifier.lowercased()))]
      #expect(try facts(sample)["contentIdentifier"] == .string(Self.identifier))
      for wrong in [
        Self.note("no identifier"), Self.note(Self.identifier, type: 3), Self.note(""),
        Array(Self.note(Self.identifier).prefix(40)), Array("Apple iOS\0\0\u{1}MM".utf8),
      ] {
        sample.photo = [.undefined(0x927C, wrong), .text(0x9003, "2020:05:01 12:00:00")]
        let facts = try facts(sample)
        #expect(facts["contentIdentifier"] == nil && facts["exif"] != nil, "\(wrong)")
      }
    }

    @Test("The pictures of an iPhone's burst have its identifier")
    func burst() throws {
      var sample = MetadataSample()
      sample.photo = [.undefined(0x927C, Self.note(Self.identifier.lowercased(), tag: 0x0B))]
      #expect(try facts(sample)["burstIdentifier"] == .string(Self.identifier))
      #expect(try facts(sample)["contentIdentifier"] == nil)
      sample.photo = [
        .undefined(0x927C, Self.note("1", tag: 0x0B)), .text(0x9003, "2020:05:01 12:00:00"),
      ]
      #expect(try facts(sample)["burstIdentifier"] == nil)
    }

    @Test("The film of a Live Photo has the identifier of its picture")
    func liveFilm() throws {
      func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        big(content.count + 8, 4) + Array(type.utf8) + content
      }
      func film(_ pairs: [(String, String)]) -> [UInt8] {
        let keys = pairs.flatMap { box("mdta", Array($0.0.utf8)) }
        let values = pairs.enumerated().flatMap { index, pair in
          let data = box("data", big(1, 4) + big(0, 4) + Array(pair.1.utf8))
          return big(data.count + 8, 4) + big(index + 1, 4) + data
        }
        return box("ftyp", Array("qt  ".utf8) + [0, 0, 0, 0])
          + box("mdat", [UInt8](repeating: 7, count: 1 << 16))
          + box(
            "moov",
            box(
              "meta", box("keys", big(0, 4) + big(pairs.count, 4) + keys) + box("ilst", values)))
      }
      func found(_ pairs: [(String, String)]) throws -> JSONValue {
        let result = try PluginRun("metadata").process(film(pairs))
        guard case .done(let facts, _) = result else { throw Unexpected("\(result)") }
        return facts
      }
      let name = "com.apple.quicktime.content.identifier"
      let date = ("com.apple.quicktime.creationdate", "2018-01-28T17:00:00+0100")
      #expect(
        try found([date, (name, Self.identifier)])
          == ["contentIdentifier": .string(Self.identifier)])
      #expect(try found([date]) == [:])
      #expect(try found([(name, "../../etc")]) == [:])
      #expect(try found([(name, "")]) == [:])
    }

    private func big(_ value: Int, _ size: Int) -> [UInt8] { Self.big(value, size) }

    private static func big(_ value: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) }
    }

    @Test("A kind of file that exiv2 doesn't know is skipped, one without a beginning fails")
    func refusals() throws {
      let run = try PluginRun("metadata")
      guard case .skipped(let reason) = try run.process([UInt8](repeating: 0xA5, count: 100)) else {
        throw Unexpected("not skipped")
      }
      run.expectSentence(reason)
      let picture = try Pictures.jpeg(width: 16, height: 12)
      #expect(try run.failure(Array(picture.prefix(100))).class == .permanent)
      guard case .failed(let failure) = try run.process(path: "/nowhere/at/all") else {
        throw Unexpected("a file that is not there was read")
      }
      #expect(failure.class == .transient)
    }
  }
#endif
