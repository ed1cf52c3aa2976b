import Files
import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import Testing
import Vips

/// `serve` as built: images of any size below `iiif/3/`.
@Suite("Images by IIIF's Image API", .timeLimit(.minutes(5)), .seeded)
struct ImageServiceTests {
  /// A library with one picture of 800 × 600 pixels, stored turned, a text and a cut picture.
  private func made(_ onDemand: [String: JSONValue] = [:]) throws -> Workspace {
    let workspace = try Workspace(["onDemand": .object(onDemand)])
    try workspace.put(
      try Pictures.jpeg(width: 800, height: 600, exif: PicturesExif(orientation: 6)), as: "a.jpg")
    try workspace.put("a text", as: "t.txt")
    let half = Pictures.truncated(try Pictures.jpeg(width: 400, height: 300))
    try workspace.put(half, as: "half.jpg")
    try workspace.json("run", exit: 3)
    return workspace
  }

  private func image(
    _ served: ServedLibrary, _ target: String, _ location: SourceLocation = #_sourceLocation
  ) throws -> PicturesReading {
    let answer = try served.get(target)
    try #require(
      answer.status == 200, "\(target): \(answer.status) \(answer.text)", sourceLocation: location)
    return try PicturesReading(answer.body)
  }

  private func onDemand(_ workspace: Workspace) -> BytePath {
    workspace.library.appending("renditions/.on-demand")
  }

  @Test("info.json says what can be asked for, as JSON or JSON-LD, to pages of other sites too")
  func information() throws {
    let served = try ServedLibrary(made(["maxPixelSize": 640]))
    let id = try served.id("a.jpg")
    let answer = try served.get("/iiif/3/\(id)/info.json")
    let info = try answer.json()
    #expect(answer.status == 200 && answer.headers["content-type"] == "application/json")
    #expect(info["id"]?.string == "http://localhost/iiif/3/\(id)")
    #expect(info["width"] == 800 && info["height"] == 600 && info["maxWidth"] == 640)
    #expect(info["profile"] == "level2" && info["type"] == "ImageService3")
    #expect(answer.headers["access-control-allow-origin"] == "*")
    #expect(answer.headers["cross-origin-resource-policy"] == "cross-origin")
    #expect(answer.headers["x-content-type-options"] == "nosniff")
    #expect(
      answer.headers["link"] == "<http://iiif.io/api/image/3/level2.json>;rel=\"profile\"")
    let linked = try served.get(
      "/iiif/3/\(id)/info.json", ["Accept": "application/ld+json", "Host": "127.0.0.1:80"])
    #expect(linked.headers["content-type"]?.hasPrefix("application/ld+json;") == true)
    #expect(linked.headers["vary"] == "Accept")
    #expect(try linked.json()["id"]?.string == "http://127.0.0.1:80/iiif/3/\(id)")
    let tag = try #require(answer.headers["etag"])
    #expect(try served.get("/iiif/3/\(id)/info.json", ["If-None-Match": tag]).status == 304)
    let base = try served.get("/iiif/3/\(id)")
    #expect(base.status == 303)
    #expect(base.headers["location"] == "http://localhost/iiif/3/\(id)/info.json")
    let known = try served.json("/api/v1/assets/\(id)")["iiif"]
    #expect(known?.string == "iiif/3/\(id)")
    #expect(try served.json("/api/v1/assets/\(served.id("t.txt"))")["iiif"] == .null)
    // Nothing else is for other sites.
    for target in ["/", "/api/v1/grid", "/o/\(id)", "/api/v1/assets/\(id)", "/healthz"] {
      let other = try served.get(target)
      #expect(other.headers["access-control-allow-origin"] == nil, "\(target)")
      #expect(other.headers["cross-origin-resource-policy"] == "same-origin", "\(target)")
    }
    try served.stop()
  }

  @Test("Images have the region, size, turn, quality and format that were asked for, upright")
  func images() throws {
    let served = try ServedLibrary(made())
    let base = "/iiif/3/\(try served.id("a.jpg"))"
    let whole = try image(served, "\(base)/full/max/0/default.png")
    #expect(whole.width == 800 && whole.height == 600 && whole.loader == .png)
    let part = try image(served, "\(base)/20,500,90,1000/max/0/default.png")
    #expect(part.width == 90 && part.height == 100)
    for row in 0..<100 {
      let start = ((500 + row) * 800 + 20) * 3
      #expect(
        part.pixels[row * 270..<row * 270 + 270] == whole.pixels[start..<start + 270], "\(row)")
    }
    let turned = try image(served, "\(base)/20,500,90,100/max/90/default.png")
    #expect(turned.width == 100 && turned.height == 90)
    for y in 0..<100 {
      for x in 0..<90 {
        let (from, to) = ((y * 90 + x) * 3, (x * 100 + 99 - y) * 3)
        guard part.pixels[from..<from + 3] == turned.pixels[to..<to + 3] else {
          Issue.record("\(x),\(y) is not where it belongs")
          return
        }
      }
    }
    for (words, width, height) in [
      ("full/400,/0/default.jpg", 400, 300), ("full/,300/0/default.jpg", 400, 300),
      ("full/pct:10/0/default.jpg", 80, 60), ("full/300,50/0/default.jpg", 300, 50),
      ("full/!300,50/0/default.webp", 67, 50), ("square/max/0/default.jpg", 600, 600),
      ("pct:25,25,50,50/max/270/default.jpg", 300, 400),
      ("full/^1600,1200/!180/default.jpg", 1600, 1200),
      ("full/128,96/0/default.jpg", 128, 96),
    ] {
      let made = try image(served, "\(base)/\(words)")
      #expect(made.width == width && made.height == height, "\(words)")
    }
    #expect(try image(served, "\(base)/full/90,/0/gray.jpg").bands == 1)
    let bitonal = try image(served, "\(base)/full/90,/0/bitonal.png")
    #expect(Set(bitonal.pixels) == [0, 255])
    #expect(try image(served, "\(base)/full/90,/0/color.png").bands == 3)
    // A stage's rendition of this size is handed out as it is; `get` turns and greys alike.
    let id = BytePath(try served.id("a.jpg"))
    let rendition = try served.workspace.run("get", id, "--rendition", "preview").outputBytes
    #expect(try served.get("\(base)/full/128,96/0/default.jpg").body == rendition)
    let got = try served.workspace.run(
      "get", id, "--max-pixel-size", "200", "--format", "png", "--rotation", "90", "--quality",
      "gray")
    #expect(got.exitCode == 0, "\(got.errors)")
    let shown = try image(served, "\(base)/full/200,150/90/gray.png")
    #expect(try PicturesReading(got.outputBytes).pixels == shown.pixels)
    try served.workspace.expectSound()
    try served.stop()
  }

  @Test("The tile that has the whole image is exact, and others of it are made of a thumbnail")
  func overview() throws {
    let workspace = try Workspace(stages: Workspace.stages(sizes: ["preview": 600]))
    let bytes = try Pictures.jpeg(width: 1200, height: 900)
    try workspace.put(bytes, as: "a.jpg")
    try workspace.json("run")
    let served = try ServedLibrary(workspace)
    let base = "/iiif/3/\(try served.id("a.jpg"))"
    func distance(_ width: Int, _ height: Int) throws -> Double {
      let source = try PictureSource(bytes: bytes)
      let exact = try Picture.load(source, as: .jpeg).resized(width: width, height: height)
      let shown = try image(served, "\(base)/full/\(width),\(height)/0/default.png")
      return try shown.psnr(to: PicturesReading(Pictures.file(exact, ".png")))
    }
    let (overview, other) = (try distance(300, 225), try distance(304, 228))
    #expect(overview > 45 && other < overview - 5, "\(overview) \(other)")
    // If the original can't be decoded, a thumbnail is better than nothing.
    try Unprivileged.shell("rm -r library/renditions/.on-demand", in: workspace)
    for path in try workspace.files(below: "library/originals") {
      let path = BytePath("library/originals").appending(path)
      try workspace.damage(path, Array(workspace.read(path).prefix(999)))
    }
    let shown = try image(served, "\(base)/full/300,225/0/default.jpg")
    #expect(shown.width == 300 && shown.height == 225)
    #expect(try served.get("\(base)/0,0,512,512/max/0/default.jpg").status == 404)
    try served.stop()
  }

  @Test("Answers say how they are kept, and what their one address is")
  func caching() throws {
    let served = try ServedLibrary(made())
    let id = try served.id("a.jpg")
    let digest = try #require(try served.workspace.asset(named: "a.jpg")["digest"]?.string)
    let target = "/iiif/3/\(id)/pct:0,0,50,50/100,75/0/color.jpg"
    let answer = try served.get(target)
    #expect(answer.status == 200 && answer.headers["content-type"] == "image/jpeg")
    #expect(
      answer.headers["link"]
        == "<http://iiif.io/api/image/3/level2.json>;rel=\"profile\", "
        + "<http://localhost/iiif/3/\(id)/0,0,400,300/100,75/0/default.jpg>;rel=\"canonical\"")
    #expect(answer.headers["cache-control"] == "private, max-age=2592000")
    #expect(answer.headers["access-control-allow-origin"] == "*")
    #expect(answer.headers["content-security-policy"]?.contains("sandbox") == true)
    let tag = try #require(answer.headers["etag"])
    #expect(tag.hasPrefix("W/\"\(digest)-"))
    let canonical = try served.get("/iiif/3/\(id)/0,0,400,300/100,75/0/default.jpg")
    #expect(canonical.headers["etag"] == tag && canonical.body == answer.body)
    let other = try served.get("/iiif/3/\(id)/0,0,400,300/100,75/90/default.jpg")
    #expect(other.headers["etag"] != tag)
    // Whoever has it is told so without its being made.
    try Unprivileged.shell("rm -r library/renditions/.on-demand", in: served.workspace)
    let same = try served.get(target, ["If-None-Match": tag])
    #expect(same.status == 304 && same.body.isEmpty)
    #expect(!served.workspace.exists(onDemand(served.workspace)))
    let head = try served.client.send("HEAD", target)
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(head.headers["content-length"] == "\(answer.body.count)")
    try served.stop()
  }

  @Test("What can't be is refused in JSON, and the same with a token for who has none")
  func refused() throws {
    let workspace = try made(["maxPixelSize": 500])
    try workspace.write(Array("0123456789abcdef0123456789abcdef".utf8), to: "token")
    chmod(workspace.root.appending("token").description, 0o600)
    let served = try ServedLibrary(workspace)
    let id = try served.id("a.jpg")
    for (target, status) in [
      ("\(id)/full/501,/0/default.jpg", 400), ("\(id)/full/max/0/default.xyz", 400),
      ("\(id)/801,0,5,5/max/0/default.jpg", 400), ("\(id)/full/max/45/default.jpg", 501),
      ("\(id)/full/max/0/default.tif", 501), ("\(id)/full/max/0", 404), ("\(id)/", 404),
      ("\(UUID().uuidString)/info.json", 404), ("x/info.json", 404), ("\(id)/info.xml", 404),
      ("\(UUID().uuidString)/full/max/0/default.jpg", 404),
      ("\(try served.id("t.txt"))/info.json", 404),
      ("\(try served.id("t.txt"))/full/max/0/default.jpg", 404),
      ("\(try served.id("half.jpg"))/full/10,/0/default.jpg", 404),
      ("album/nothing/manifest.json", 404), ("album/x", 404), ("album", 404),
    ] {
      let answer = try served.get("/iiif/3/\(target)")
      #expect(answer.status == status, "\(target): \(answer.status) \(answer.text)")
      let message = try answer.json()["error"]?["message"]?.string
      #expect(message?.hasSuffix(".") == true, "\(target)")
    }
    #expect(try served.get("/iiif/2/\(id)/info.json").status == 404)
    try served.stop()
    let closed = try ServedLibrary(workspace, "--token-file", "token")
    let target = "/iiif/3/\(id)/full/max/0/default.jpg"
    #expect(try closed.get(target).status == 401)
    #expect(try closed.get("/iiif/3/\(id)/info.json").status == 401)
    let bearer = ["Authorization": "Bearer 0123456789abcdef0123456789abcdef"]
    #expect(try closed.get(target, bearer).status == 200)
    try closed.stop()
  }

  @Test("64 that ask for the same image at once have it made once")
  func once() throws {
    let served = try ServedLibrary(made())
    let id = try served.id("a.jpg")
    // Makes the folder in which there is a folder for each picture in the making.
    _ = try image(served, "/iiif/3/\(id)/full/300,/0/default.jpg")
    let watch = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    try #require(watch >= 0)
    defer { close(watch) }
    let work = onDemand(served.workspace).appending("work").description
    try #require(inotify_add_watch(watch, work, UInt32(IN_CREATE)) >= 0)
    let requests = (0..<64).map { number in
      // By two addresses.
      let size = number % 2 == 0 ? "301,226" : "301,"
      return HTTPClient.request("GET", "/iiif/3/\(id)/full/\(size)/0/default.jpg")
    }
    let answers = try served.client.exchangeAll(requests).map { try HTTPAnswer($0) }
    #expect(answers.allSatisfy { $0.status == 200 })
    #expect(Set(answers.map(\.body)).count == 1)
    var buffer = [UInt8](repeating: 0, count: 1 << 12)
    let count = read(watch, &buffer, buffer.count)
    let length = buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 12, as: UInt32.self) }
    #expect(count == 16 + Int(length), "more than one folder was made")
    try served.stop()
  }

  @Test("When too many wait, others are sent away for a moment; what is there comes at once")
  func queue() throws {
    let served = try ServedLibrary(made(["concurrency": 1, "queue": 2]))
    let base = "/iiif/3/\(try served.id("a.jpg"))/full"
    _ = try image(served, "\(base)/300,/0/default.jpg")
    // The only place is taken, as by another process.
    let folder = try Descriptor.openFolder(onDemand(served.workspace))
    var place: ByteLock? = try ByteLock.wait(for: 1, of: "lock", in: folder)
    var waiting: [pollfd] = try (0..<6).map { number in
      let connection = try served.client.connect()
      let bytes = HTTPClient.request("GET", "\(base)/\(310 + number),/0/default.jpg")
      send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      return pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
    }
    defer { for one in waiting { close(one.fd) } }
    var refused: [Int32: HTTPAnswer] = [:]
    while refused.count < 3 {
      try #require(poll(&waiting, nfds_t(waiting.count), 30_000) > 0)
      for one in waiting where one.revents != 0 {
        refused[one.fd] = try HTTPAnswer(HTTPClient.readAll(one.fd))
      }
      waiting.removeAll { refused[$0.fd] != nil }
    }
    for answer in refused.values {
      #expect(answer.status == 503 && answer.headers["retry-after"] != nil, "\(answer.text)")
    }
    #expect(refused.count == 3)
    #expect(try served.get("\(base)/300,/0/default.jpg").status == 200)
    withExtendedLifetime(place) {}
    place = nil
    for one in waiting {
      #expect(try HTTPAnswer(HTTPClient.readAll(one.fd)).status == 200)
    }
    for connection in refused.keys { close(connection) }
    try served.stop()
  }

  @Test("Who goes away makes room in the queue for others")
  func gone() throws {
    let served = try ServedLibrary(made(["concurrency": 1, "queue": 2]))
    let base = "/iiif/3/\(try served.id("a.jpg"))/full"
    _ = try image(served, "\(base)/300,/0/default.jpg")
    // The only place is taken, as by another process, so that nothing is ever made.
    let folder = try Descriptor.openFolder(onDemand(served.workspace))
    var place: ByteLock? = try ByteLock.wait(for: 1, of: "lock", in: folder)
    func ask(_ width: Int) throws -> pollfd {
      let connection = try served.client.connect()
      let bytes = HTTPClient.request("GET", "\(base)/\(width),/0/default.jpg")
      send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      return pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
    }
    // One is being made, two wait, and one is sent away.
    var all = try (310..<314).map(ask)
    try #require(poll(&all, nfds_t(all.count), 30_000) > 0)
    for one in all { close(one.fd) }
    // Those are gone: sooner or later somebody else is not sent away, but waits.
    var tries = 0
    while true {
      tries += 1
      try #require(tries < 200, "The queue never had room.")
      var one = try ask(400 + tries)
      defer { close(one.fd) }
      if poll(&one, 1, 5000) > 0 {
        #expect(try HTTPAnswer(HTTPClient.readAll(one.fd)).status == 503)
        usleep(50_000)
        continue
      }
      withExtendedLifetime(place) {}
      place = nil
      #expect(try HTTPAnswer(HTTPClient.readAll(one.fd)).status == 200)
      break
    }
    try served.stop()
  }

  @Test("The cache stays within its budget, whatever is asked for")
  func budget() throws {
    let budget = 100_000
    let served = try ServedLibrary(made(["cache": .string("\(budget)")]))
    let base = "/iiif/3/\(try served.id("a.jpg"))"
    let requests = (0..<24).map { number in
      HTTPClient.request("GET", "\(base)/\(number),0,90,60/max/0/default.png")
    }
    for bytes in try served.client.exchangeAll(requests) {
      #expect(try HTTPAnswer(bytes).status == 200)
    }
    let folder = onDemand(served.workspace)
    let sizes = try served.workspace.files(below: folder).filter { $0.description.contains("-") }
      .map { try served.workspace.read(folder.appending($0)).count }
    #expect(sizes.reduce(0, +) <= budget && sizes.count > 1 && sizes.count < 24)
    try served.stop()
  }

  @Test("A kill while the cache is filled leaves nothing torn that is handed out")
  func killed() throws {
    let workspace = try made()
    let first = try ServedLibrary(workspace)
    let id = try first.id("a.jpg")
    let targets = (0..<6).map { "/iiif/3/\(id)/\($0),0,300,200/150,100/0/default.png" }
    let expected = try targets.map { try first.get($0).body }
    try first.stop()
    try Unprivileged.shell("rm -r library/renditions/.on-demand", in: workspace)
    var random = SeededRandom(for: "images while killed")
    for _ in 0..<5 {
      let served = try ServedLibrary(workspace)
      let connections = try targets.map { target in
        let connection = try served.client.connect()
        let bytes = HTTPClient.request("GET", target)
        send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        return connection
      }
      usleep(UInt32.random(in: 0...400_000, using: &random))
      served.run.signal(SIGKILL)
      _ = try served.run.wait(within: 20)
      for connection in connections { close(connection) }
    }
    let served = try ServedLibrary(workspace)
    func expectAll() throws {
      for (target, bytes) in zip(targets, expected) {
        let answer = try served.get(target)
        #expect(answer.status == 200 && answer.body == bytes, "\(target)")
      }
    }
    try expectAll()
    // What a crash of the machine tears is made again.
    try Unprivileged.shell(
      "for f in library/renditions/.on-demand/??/*; do truncate -s -100 $f; done", in: workspace)
    try expectAll()
    try served.stop()
    try workspace.expectSound()
  }

  @Test("An album is a manifest whose images can be asked for; pages of other sites can't read it")
  func album() throws {
    let workspace = try made()
    try workspace.json("tag", "name:a.jpg", "--album", "Été à la mer")
    try workspace.json("tag", "name:t.txt", "--album", "Été à la mer")
    let served = try ServedLibrary(workspace)
    let target = "/iiif/3/album/%C3%89t%C3%A9%20%C3%A0%20la%20mer/manifest.json"
    let answer = try served.get(target)
    let manifest = try answer.json()
    #expect(manifest["type"] == "Manifest")
    #expect(manifest["label"]?["none"]?.array == ["Été à la mer"])
    #expect(manifest["id"]?.string == "http://localhost" + target)
    #expect(answer.headers["access-control-allow-origin"] == nil)
    let canvases = try #require(manifest["items"]?.array)
    #expect(canvases.count == 1 && canvases[0]["width"] == 800 && canvases[0]["height"] == 600)
    let annotation = canvases[0]["items"]?.array?.first?["items"]?.array?.first
    #expect(annotation?["target"] == canvases[0]["id"])
    for body in [annotation?["body"], canvases[0]["thumbnail"]?.array?.first] {
      let url = try #require(body?["id"]?.string)
      let made = try image(served, String(url.dropFirst("http://localhost".count)))
      #expect(made.width == body?["width"]?.integer && made.height == body?["height"]?.integer)
      #expect(
        body?["service"]?.array?.first?["id"]?.string
          == "http://localhost/iiif/3/\(try served.id("a.jpg"))")
    }
    try workspace.json("rm", BytePath(try served.id("a.jpg")))
    #expect(try served.json(target)["items"]?.array?.isEmpty == true)
    try served.stop()
  }
}
