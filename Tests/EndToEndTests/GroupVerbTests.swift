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
