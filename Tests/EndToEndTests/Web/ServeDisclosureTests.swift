import Fixtures
import PipelineModel
import Testing

/// `serve` as built: which renditions it shows, and what it hides.
@Suite("What serve shows", .timeLimit(.minutes(5)))
struct ServeDisclosureTests {
  private func sizes(_ sizes: JSONValue...) -> JSONValue { ["sizes": .array(sizes)] }

  @Test("A picture is shown by what shows it whole and upright, not by what was made of it")
  func upright() throws {
    let grid: JSONValue = ["name": "grid", "maxPixelSize": 90]
    let gray: JSONValue = ["name": "gray", "maxPixelSize": 300, "tones": "gray"]
    let banner: JSONValue = ["name": "banner", "maxPixelSize": 9, "width": 500, "height": 50]
    let workspace = try Workspace(stages: [
      ["name": "identify", "plugin": "identify"],
      [
        "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"],
        "options": sizes(grid, gray, banner),
      ],
      [
        "name": "part", "plugin": "thumbnail", "needs": ["identify"],
        "options": [
          "region": [0, 0, 50, 50], "sizes": [["name": "part", "maxPixelSize": 50]],
        ],
      ],
      [
        "name": "lying", "plugin": "thumbnail", "needs": ["identify"],
        "options": [
          "transform": false, "sizes": [["name": "lying", "maxPixelSize": 120]],
        ],
      ],
    ])
    for (name, orientation) in [("lies.jpg", 6), ("stands.jpg", 1)] {
      try workspace.put(
        try Pictures.jpeg(
          width: 400, height: 300, exif: PicturesExif(orientation: orientation)),
        as: BytePath(name))
    }
    try workspace.json("run")
    let served = try ServedLibrary(workspace)
    for (file, thumbnail, preview) in [
      ("lies.jpg", "grid", "grid"), ("stands.jpg", "lying", "lying"),
    ] {
      let id = try served.id(file)
      let found = try served.json("/api/v1/assets")["assets"]?.array ?? []
      let listed = try #require(found.first { $0["id"]?.string == id })
      for asset in [listed, try served.json("/api/v1/assets/\(id)")] {
        #expect(asset["thumbnail"]?.string?.hasSuffix("/\(thumbnail)") == true, "\(asset)")
        #expect(asset["preview"]?.string?.hasSuffix("/\(preview)") == true, "\(asset)")
      }
      let page = try served.get("/a/\(id)").text
      #expect(page.contains("/\(preview)\"") && !page.contains("/gray\""), "\(page)")
    }
    try served.stop()
  }

  #if METADATA
    /// A place in France, 48.858 degrees north and 2.294 east, and its camera.
    private static let secrets = ["48.858", "2.294", "GPS", "latitude"]

    private func made() throws -> Workspace {
      let workspace = try Workspace(stages: [
        ["name": "identify", "plugin": "identify"], ["name": "metadata", "plugin": "metadata"],
        [
          "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"],
          "options": sizes(["name": "grid", "maxPixelSize": 90]),
        ],
        [
          "name": "telling", "plugin": "thumbnail", "needs": ["identify"],
          "options": ["strip": false, "sizes": [["name": "telling", "maxPixelSize": 200]]],
        ],
      ])
      try workspace.put(try Pictures.jpeg(width: 400, height: 300), as: "a.jpg")
      try workspace.json("run")
      return workspace
    }

    @Test("With --hide gps nothing that is sent tells where a picture was taken")
    func hidden() throws {
      let workspace = try made()
      let id = try #require(try workspace.asset(named: "a.jpg")["id"]?.string)
      let texts = [
        "/", "/a/\(id)", "/work", "/api/v1/assets", "/api/v1/assets/\(id)", "/api/v1/grid",
        "/api/v1/complete?q=l", "/api/v1/complete?q=@", "/api/v1/failures", "/api/v1/status",
        "/metrics",
        "/iiif/3/\(id)/info.json",
      ]
      try workspace.json("search", "save", "home", "near:48.858,2.294,1km")
      let searches = ["near:48,2,100km", "latitude%3E0", "has:gps"]
      let open = try ServedLibrary(workspace)
      let whole = try open.json("/api/v1/assets/\(id)")
      // Without it, there is something to hide.
      #expect(whole["facts"]?["metadata"]?["gps"] != nil)
      #expect(try Self.secrets.prefix(2).allSatisfy(open.get("/a/\(id)").text.contains))
      #expect(try open.get("/api/v1/complete?q=l").text.contains("latitude"))
      #expect(try open.get("/api/v1/complete?q=@").text.contains("48.858"))
      #expect(try searches.allSatisfy { try open.get("/?q=\($0)").status == 200 })
      let telling = try #require(whole["preview"]?.string)
      let bytes = try open.get("/\(telling)").body
      #expect(telling.hasSuffix("/telling"))
      #expect(try PicturesReading(bytes).exif != nil)
      #expect(try open.get("/o/\(id)").status == 200)
      try open.stop()

      let served = try ServedLibrary(workspace, "--hide", "gps")
      for target in texts {
        let answer = try served.get(target)
        #expect(answer.status == 200, "\(target)")
        for secret in Self.secrets {
          #expect(!answer.text.contains(secret), "\(target): \(secret)")
        }
      }
      for search in searches {
        for target in ["/?q=", "/api/v1/assets?q=", "/api/v1/grid?q=", "/api/v1/failures?q="] {
          #expect(try served.get(target + search).status == 400, "\(target)\(search)")
        }
      }
      #expect(try served.get("/api/v1/grid?sort=latitude").status == 400)
      let asset = try served.json("/api/v1/assets/\(id)")
      #expect(asset["facts"]?["metadata"]?["exif"]?["Make"]?.string == PicturesExif.camera)
      #expect(asset["original"] == .null && asset["renditions"]?.array?.count == 2)
      #expect(try served.get("/o/\(id)").status == 403)
      #expect(try served.get("/\(telling)").status == 404)
      let shown = try #require(asset["preview"]?.string)
      for target in ["/\(shown)", "/iiif/3/\(id)/full/max/0/default.jpg"] {
        let answer = try served.get(target)
        #expect(answer.status == 200)
        #expect(try PicturesReading(answer.body).exif == nil, "\(target)")
      }
      try served.stop()
      for value in ["", ",", "gps,"] {
        #expect(try workspace.run("serve", "--hide", BytePath(value)).exitCode == 2, "\(value)")
      }
      let refused = try workspace.run("serve", "--hide", "faces")
      #expect(refused.exitCode == 2 && refused.errors.contains("gps"), "\(refused.errors)")
    }
  #endif
}
