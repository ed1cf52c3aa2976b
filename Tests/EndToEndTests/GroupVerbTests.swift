#if METADATA
  import Fixtures
  import Foundation
  import PipelineModel
  import Testing

  /// Files that belong together, as built.
  @Suite("Groups", .timeLimit(.minutes(5)))
  struct GroupVerbTests {
    private static let stages: JSONValue = [
      ["name": "identify", "plugin": "identify"], ["name": "metadata", "plugin": "metadata"],
    ]

    private static func xmp(_ properties: String) -> String {
      """
      <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
        xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
        xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
        xmlns:lr="http://ns.adobe.com/lightroom/1.0/">\(properties)</rdf:Description></rdf:RDF>
      </x:xmpmeta><?xpacket end="w"?>
      """
    }

    private static let description = """
      <xmp:Rating>4</xmp:Rating>
      <dc:title><rdf:Alt><rdf:li xml:lang="x-default">Evening</rdf:li></rdf:Alt></dc:title>
      <dc:description><rdf:Alt><rdf:li xml:lang="x-default">At the lake</rdf:li></rdf:Alt>
        </dc:description>
      <dc:subject><rdf:Bag><rdf:li>lake</rdf:li><rdf:li>été</rdf:li></rdf:Bag></dc:subject>
      <lr:hierarchicalSubject><rdf:Bag><rdf:li>Places|Germany|Munich</rdf:li></rdf:Bag>
        </lr:hierarchicalSubject>
      """

    private func exif(_ seconds: Int, model: String = "Model F") -> PicturesExif {
      var exif = PicturesExif(
        dateTimeOriginal: "2024:05:06 07:08:\(seconds < 10 ? "0" : "")\(seconds)")
      exif.model = model
      return exif
    }

    private func list(_ workspace: Workspace, _ words: BytePath...) throws -> [String] {
      let outcome = try workspace.program.run(["list"] + words)
      try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
      return outcome.output.split(separator: "\n").map(String.init)
    }

    private func id(_ name: String, _ workspace: Workspace) throws -> BytePath {
      BytePath(try #require(try workspace.asset(named: name)["id"]?.string))
    }

    @Test("A raw file, its JPEG and its sidecar are one group, which lists, show and export know")
    func rawAndJPEG() throws {
      let workspace = try Workspace(stages: Self.stages)
      try workspace.put(exif(9).dng, as: "IMG_1.DNG")
      try workspace.put(try Pictures.jpeg(width: 32, height: 24, exif: exif(9)), as: "IMG_1.JPG")
      try workspace.put(Self.xmp(Self.description), as: "IMG_1.xmp")
      // Another camera's file of the same number, and another number.
      try workspace.put(
        try Pictures.jpeg(width: 32, height: 24, exif: exif(9, model: "Model G")), as: "IMG_2.JPG")
      try workspace.put(exif(10).dng, as: "IMG_2.DNG")
      try workspace.json("run")
      #expect(
        try list(workspace, "is:grouped", "--sort", "name", "--fields", "name,role,group") == [
          "IMG_1.DNG\traw\trawAndJPEG, sidecar", "IMG_1.JPG\tprimary\trawAndJPEG, sidecar",
          "IMG_1.xmp\tsidecar\trawAndJPEG, sidecar",
        ])
      #expect(
        try list(workspace, "is:primary", "--sort", "name", "--fields", "name")
          == ["IMG_1.JPG", "IMG_2.DNG", "IMG_2.JPG"])
      #expect(
        try list(workspace, "tag:munich", "tag:ete", "rating:4", "lake", "--fields", "name,title")
          == ["IMG_1.DNG\tEvening", "IMG_1.JPG\tEvening", "IMG_1.xmp\tEvening"])
      let (raw, jpeg) = (try id("IMG_1.DNG", workspace), try id("IMG_1.JPG", workspace))
      let shown = try workspace.json("show", raw).of("asset").first?["group"]
      #expect(shown?["role"] == "raw" && shown?["primary"] == .string(jpeg.description))
      #expect(
        shown?["members"]?.array?.map { $0["name"] } == ["IMG_1.JPG", "IMG_1.DNG", "IMG_1.xmp"])
      let listed = try workspace.asset(named: "IMG_1.DNG")["group"]
      #expect(listed?["kinds"] == ["rawAndJPEG", "sidecar"] && listed?["role"] == "raw")
      #expect(try workspace.asset(named: "IMG_2.JPG")["group"] == .null)
      let text = try workspace.run("show", jpeg).output
      #expect(
        text.contains("  group     primary of rawAndJPEG, sidecar\n")
          && text.contains("  member    \(raw) raw IMG_1.DNG\n"), "\(text)")
      // Alone, and with what belongs to it.
      _ = try workspace.json("export", "--to", "alone", "name:IMG_1.JPG")
      #expect(try workspace.files(below: "alone") == ["IMG_1.JPG", "SHA256SUMS"])
      _ = try workspace.json("export", "--to", "all", "name:IMG_1", "--with-group")
      #expect(
        try workspace.files(below: "all") == ["IMG_1.DNG", "IMG_1.JPG", "IMG_1.xmp", "SHA256SUMS"])
      _ = try workspace.json("export", "--to", "one", "name:IMG_1.JPG", "--with-group")
      #expect(try workspace.files(below: "one") == workspace.files(below: "all"))
      // The same groups again.
      let before = try list(workspace, "--fields", "id,role,group,tag,rating")
      try workspace.json("rebuild-catalog")
      try workspace.json("run")
      #expect(try list(workspace, "--fields", "id,role,group,tag,rating") == before)
      let removed = try workspace.run("rm", jpeg)
      #expect(removed.exitCode == 0 && removed.errors.contains("IMG_1.DNG (\(raw))"))
      let json = try workspace.json("rm", raw).of("remaining")
      #expect(json.first?["members"]?.array?.map { $0["name"] } == ["IMG_1.xmp"])
      #expect(try list(workspace, "is:orphan", "--fields", "name") == ["IMG_1.xmp"])
    }

    @Test("A sidecar waits for its picture, is told of, and is replaced by a later one")
    func sidecars() throws {
      let workspace = try Workspace(stages: Self.stages)
      try workspace.put(Self.xmp("<xmp:Rating>2</xmp:Rating>"), as: "a.jpg.xmp")
      try workspace.json("run")
      #expect(try workspace.json("status").of("status").first?["orphans"] == 1)
      #expect(
        try workspace.run("status").output.contains("orphans     1 sidecar without a picture"))
      #expect(try list(workspace, "is:orphan", "--fields", "name,role") == ["a.jpg.xmp\torphan"])
      try workspace.put(try Pictures.jpeg(width: 32, height: 24), as: "a.jpg")
      try workspace.json("run")
      #expect(try workspace.json("status").of("status").first?["orphans"] == 0)
      #expect(try list(workspace, "kind:image", "--fields", "rating") == ["2"])
      // A less exact name does not count, a later one does.
      try workspace.put(Self.xmp("<xmp:Rating>1</xmp:Rating>"), as: "a.xmp")
      try workspace.json("run")
      #expect(try list(workspace, "kind:image", "--fields", "rating") == ["2"])
      try workspace.put(Self.xmp("<xmp:Rating>5</xmp:Rating>"), as: "a.jpg.xmp")
      try workspace.json("run")
      #expect(try list(workspace, "kind:image", "--fields", "rating") == ["5"])
      // What the user says counts most.
      _ = try workspace.json("tag", "kind:image", "--rating", "3")
      #expect(try list(workspace, "kind:image", "--fields", "rating") == ["3"])
      #expect(try workspace.json("verify").of("problem") == [])
    }

    @Test(
      "A sidecar counts again after the trash, and with an earlier text",
      arguments: ["move", "copy"])
    func sidecarsAgain(mode: String) throws {
      let workspace = try Workspace(
        sources: [["path": "inbox", "settle": "0ms", "mode": .string(mode)]], stages: Self.stages)
      for (name, second) in [("a", 1), ("b", 2)] {
        let picture = try Pictures.jpeg(width: 32, height: 24, exif: exif(second))
        try workspace.put(picture, as: BytePath("\(name).jpg"))
      }
      func rate(_ name: BytePath, _ rating: Int) throws -> [String] {
        try workspace.put(Self.xmp("<xmp:Rating>\(rating)</xmp:Rating>"), as: name)
        try workspace.json("run")
        return try list(workspace, "kind:image", "--sort", "name", "--fields", "rating")
      }
      #expect(try rate("a.xmp", 4) == ["4", "-"])
      #expect(try rate("b.xmp", 4) == ["4", "4"])
      let sidecar = try list(workspace, "name=b.xmp", "--fields", "id")
      try #require(sidecar.count == 1)
      _ = try workspace.json("rm", BytePath(sidecar[0]))
      #expect(
        try list(workspace, "kind:image", "--sort", "name", "--fields", "rating") == ["4", "-"])
      if mode == "copy" {
        try Unprivileged.shell("rm inbox/b.xmp", in: workspace)
        try workspace.json("run")
      }
      #expect(try rate("b.xmp", 4) == ["4", "4"])
      #expect(try workspace.json("trash", "list").of("asset") == [])
      #expect(try rate("a.xmp", 3) == ["3", "4"])
      #expect(try rate("a.xmp", 4) == ["4", "4"])
      #expect(try rate("a.xmp", 3) == ["3", "4"])
      #expect(try workspace.json("verify").of("problem") == [])
    }

    @Test("An older version can be deleted for good, and the catalog be made again")
    func deletedVersion() throws {
      let workspace = try Workspace(
        sources: [["path": "inbox", "settle": "0ms", "mode": "copy"]], stages: Self.stages)
      for second in 1...2 {
        try workspace.put(try Pictures.jpeg(width: 32, height: 24, exif: exif(second)), as: "a.jpg")
        try workspace.json("run")
      }
      let assets = try workspace.assets()
      try #require(assets.count == 2 && assets[1]["supersedes"] == assets[0]["id"])
      let older = try #require(assets[0]["id"]?.string)
      _ = try workspace.json("rm", BytePath(older))
      _ = try workspace.json("trash", "empty")
      let left = try workspace.assets()
      #expect(left.count == 1 && left[0]["supersedes"] == .null, "\(left)")
      _ = try workspace.json("gc")
      try workspace.json("rebuild-catalog")
      try workspace.json("run")
      #expect(try workspace.assets().map { $0["id"] } == left.map { $0["id"] })
      #expect(try workspace.json("verify").of("problem") == [])
    }

    @Test("Pictures may have sidecars of the same bytes, each its own")
    func equalSidecars() throws {
      let workspace = try Workspace(stages: Self.stages)
      for name: BytePath in ["a", "b"] {
        let exif = exif(name == "a" ? 1 : 2)
        try workspace.put(
          try Pictures.jpeg(width: 32, height: 24, exif: exif), as: BytePath("\(name).jpg"))
        try workspace.put(Self.xmp("<xmp:Rating>4</xmp:Rating>"), as: BytePath("\(name).jpg.xmp"))
        if name == "a" { try workspace.json("run") }
      }
      try workspace.put(Self.xmp("<xmp:Rating>4</xmp:Rating>"), as: "c.JPG.XMP")
      try workspace.json("run")
      #expect(
        try list(workspace, "rating:4", "kind:image", "--sort", "name", "--fields", "name")
          == ["a.jpg", "b.jpg"])
      #expect(try list(workspace, "is:orphan", "--fields", "name") == ["c.JPG.XMP"])
      // The same file once more is a duplicate.
      try workspace.put(Self.xmp("<xmp:Rating>4</xmp:Rating>"), as: "b.jpg.xmp")
      #expect(try workspace.json("run").outcome("b.jpg.xmp") == "duplicate")
      #expect(try workspace.json("verify").of("problem") == [])
    }

    @Test("A hostile sidecar says nothing, and stops nobody")
    func hostileSidecar() throws {
      let workspace = try Workspace(stages: Self.stages)
      let bomb = (0..<5_000).map { _ in "<dc:subject><rdf:Bag><rdf:li>" }.joined()
      try workspace.put(Self.xmp(bomb), as: "a.xmp")
      try workspace.put("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF", as: "b.xmp")
      try workspace.put(try Pictures.jpeg(width: 32, height: 24), as: "a.jpg")
      let outcome = try workspace.program.run(["run", "--json"])
      #expect([0, 3].contains(outcome.exitCode), "\(outcome.errors)")
      #expect(try list(workspace, "name=a.jpg", "--fields", "name,tag,rating") == ["a.jpg\t-\t-"])
      #expect(try list(workspace, "is:orphan", "--fields", "name") == ["b.xmp"])
    }

    private static let identifier = "65A7DF0A-1F09-4600-917B-9572A16AD016"

    /// A film of a Live Photo, without pictures.
    private static func film(_ identifier: String) -> [UInt8] {
      func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        big(content.count + 8) + Array(type.utf8) + content
      }
      func big(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 255) } }
      let key = box("mdta", Array("com.apple.quicktime.content.identifier".utf8))
      let data = box("data", big(1) + big(0) + Array(identifier.utf8))
      let meta =
        box("keys", big(0) + big(1) + key) + box("ilst", big(data.count + 8) + big(1) + data)
      return box("ftyp", Array("qt  ".utf8) + big(0) + Array("qt  ".utf8))
        + box("moov", box("meta", meta)) + box("mdat", [0, 0, 0, 0])
    }

    @Test("Bursts are known by identifiers and names, each frame a shot, the same after a rebuild")
    func bursts() throws {
      let workspace = try Workspace(stages: Self.stages)
      for number in 1...3 {
        var exif = exif(number)
        exif.burst = Self.identifier
        exif.orientation = number
        try workspace.put(
          try Pictures.jpeg(width: 32, height: 24, exif: exif), as: BytePath("IMG_\(number).JPG"))
      }
      try workspace.put(exif(2).dng, as: "IMG_2.DNG")
      // Google's, with its words in XMP, and one that the name tells of alone.
      for number in 0...1 {
        var jpeg = try Pictures.jpeg(width: 32, height: 24, exif: exif(20 + number))
        let packet = Self.xmp(
          """
          <GCamera:BurstID xmlns:GCamera="http://ns.google.com/photos/1.0/camera/">b9b1</GCamera:BurstID>
          <GCamera:BurstPrimary xmlns:GCamera="http://ns.google.com/photos/1.0/camera/">\(number)\
          </GCamera:BurstPrimary>
          """)
        let segment = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(packet.utf8)
        let length = segment.count + 2
        jpeg.insert(
          contentsOf: [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + segment, at: 2)
        try workspace.put(jpeg, as: BytePath("g\(number).jpg"))
        try workspace.put(
          try Pictures.jpeg(width: 32, height: 24, exif: exif(30 + number)),
          as: BytePath("X_BURST00\(number)\(number == 1 ? "_COVER" : "").jpg"))
      }
      try workspace.put(try Pictures.jpeg(width: 32, height: 24, exif: exif(50)), as: "alone.jpg")
      try workspace.json("run")
      #expect(
        try list(workspace, "group:burst", "--sort", "name", "--fields", "name,group") == [
          "g0.jpg\tburst", "g1.jpg\tburst", "IMG_1.JPG\tburst", "IMG_2.DNG\trawAndJPEG, burst",
          "IMG_2.JPG\trawAndJPEG, burst", "IMG_3.JPG\tburst", "X_BURST000.jpg\tburst",
          "X_BURST001_COVER.jpg\tburst",
        ])
      #expect(
        try list(workspace, "is:cover", "--sort", "name", "--fields", "name")
          == ["alone.jpg", "g1.jpg", "IMG_1.JPG", "X_BURST001_COVER.jpg"])
      #expect(try list(workspace, "is:primary").count == 8)
      let (raw, cover) = (try id("IMG_2.DNG", workspace), try id("IMG_1.JPG", workspace))
      let shown = try workspace.json("show", raw).of("asset").first
      #expect(shown?["group"]?["kinds"] == ["rawAndJPEG"])
      #expect(shown?["burst"]?["cover"] == .string(cover.description))
      #expect(
        shown?["burst"]?["frames"]?.array?.map { $0["name"] }
          == ["IMG_1.JPG", "IMG_2.JPG", "IMG_3.JPG"])
      let text = try workspace.run("show", raw).output
      #expect(
        text.contains("  burst     3 shots\n  cover     \(cover) IMG_1.JPG\n  frame     "),
        "\(text)")
      #expect(
        try workspace.asset(named: "IMG_3.JPG")["burst"]
          == ["cover": .string(cover.description)])
      #expect(try workspace.asset(named: "alone.jpg")["burst"] == .null)
      let before = try workspace.program.run(["list", "--json"]).output
      try workspace.json("rebuild-catalog")
      try workspace.json("run")
      #expect(try workspace.program.run(["list", "--json"]).output == before)
      // Only shots within the policy.
      try workspace.configure(stages: Self.stages, ["groups": [["kind": "rawAndJPEG"]]])
      try workspace.json("run")
      #expect(try list(workspace, "is:burst") == [])
      #expect(try workspace.json("verify").of("problem") == [])
    }

    @Test("The parts of a Live Photo are joined by their identifier, whatever their names")
    func livePhoto() throws {
      let workspace = try Workspace(stages: Self.stages)
      var exif = exif(1)
      exif.livePhoto = Self.identifier
      try workspace.put(Self.film(Self.identifier), as: "VID_9.MOV")
      try workspace.put(try Pictures.jpeg(width: 32, height: 24, exif: exif), as: "IMG_1.JPG")
      try workspace.put(Self.film("0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9"), as: "VID_8.MOV")
      try workspace.json("run")
      #expect(
        try list(workspace, "group:livePhoto", "--sort", "name", "--fields", "name,role")
          == ["IMG_1.JPG\tprimary", "VID_9.MOV\tmovie"])
      _ = try workspace.json("export", "--to", "out", "name:IMG_1", "--with-group")
      #expect(try workspace.files(below: "out") == ["IMG_1.JPG", "SHA256SUMS", "VID_9.MOV"])
      let before = try workspace.program.run(["list", "--json"]).output
      try workspace.json("rebuild-catalog")
      try workspace.json("run")
      #expect(try workspace.program.run(["list", "--json"]).output == before)
    }

    @Test("What export writes beside a file is what another library reads there")
    func roundTrip() throws {
      let workspace = try Workspace(stages: Self.stages)
      try workspace.put(try Pictures.jpeg(width: 32, height: 24), as: "a.jpg")
      try workspace.json("run")
      _ = try workspace.json(
        "tag", "name:a", "+keep & co", "--rating", "4", "--title", "T", "--caption", "C")
      _ = try workspace.json("export", "--to", "out", "--sidecars")
      let other = try Workspace(stages: Self.stages)
      for name: BytePath in ["a.jpg", "a.jpg.xmp"] {
        try other.put(try workspace.read(BytePath("out").appending(name)), as: name)
      }
      try other.json("run")
      let fields: BytePath = "tag,rating,title,caption"
      #expect(
        try list(other, "name:a.jpg", "kind:image", "--fields", fields) == ["keep & co\t4\tT\tC"])
    }

    @Test("Another policy in pipeline.json forms the groups anew")
    func policy() throws {
      let workspace = try Workspace(stages: Self.stages)
      try workspace.put(exif(9).dng, as: "a.dng")
      try workspace.put(try Pictures.jpeg(width: 32, height: 24, exif: exif(14)), as: "a.jpg")
      try workspace.json("run")
      #expect(try list(workspace, "is:grouped") == [])
      try workspace.configure(
        stages: Self.stages, ["groups": [["kind": "rawAndJPEG", "within": "5s"]]])
      try workspace.json("run")
      #expect(try list(workspace, "is:grouped").count == 2)
      try workspace.configure(stages: Self.stages, ["groups": []])
      try workspace.json("run")
      #expect(try list(workspace, "is:grouped") == [])
    }
  }
#endif
