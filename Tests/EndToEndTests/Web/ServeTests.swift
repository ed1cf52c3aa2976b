import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import Testing

/// `serve` as built: what it answers.
@Suite("Serving", .timeLimit(.minutes(5)))
struct ServeTests {
  @Test("Answers in JSON say what the verbs say")
  func answers() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let workspace = served.workspace
    let assets = try workspace.assets()
    let grid = try served.json("/api/v1/grid")
    #expect(grid["count"]?.integer == assets.count && assets.count == 6)
    let aspects = try #require(Data(base64Encoded: grid["aspects"]?.string ?? ""))
    #expect(aspects.count == 6)
    let page = try #require(try served.json("/api/v1/assets")["assets"]?.array)
    let ids = page.compactMap { $0["id"]?.string }
    #expect(Set(ids) == Set(assets.compactMap { $0["id"]?.string }) && ids.count == 6)
    #expect(grid["keys"]?.array?.first?.string == ids.first)
    // One by one, from a key on.
    for (index, id) in ids.enumerated() {
      let one = try served.json("/api/v1/assets?from=\(id)&limit=1")["assets"]?.array ?? []
      #expect(one == [page[index]])
      let whole = try served.json("/api/v1/assets/\(id)")
      #expect(whole["index"]?.integer == index)
      #expect(whole["previous"]?.string == (index == 0 ? nil : ids[index - 1]))
      #expect(whole["next"]?.string == (index == 5 ? nil : ids[index + 1]))
      let shown = try #require(try workspace.json("show", BytePath(id)).first?.object)
      for (name, value) in shown { #expect(whole[name] == value, "\(name)") }
    }
    // Its own colour, which was computed from the picture, stands for one that is not there yet.
    let colored = try #require(page.first { $0["name"] == "a.jpg" })
    let facts = try workspace.query(
      """
      SELECT value FROM facts
      WHERE key = 'dominantColor' AND asset = '\(colored["id"]?.string ?? "")'
      """)
    #expect(facts.count == 1 && colored["colour"]?.string == facts.first)
    let byName = try served.json("/api/v1/assets?q=kind:image&sort=name")["assets"]?.array ?? []
    let listed = try workspace.json("list", "kind:image", "--sort", "name")
    #expect(byName.map { $0["name"] } == listed.map { $0["name"] } && byName.count > 2)
    let status = try served.json("/api/v1/status")
    for (name, value) in try #require(try workspace.json("status").first?.object)
    where name != "freeBytes" { #expect(status[name] == value, "\(name)") }
    #expect(status["stages"]?.array?.map { $0["name"]?.string } == ["identify", "thumbnails"])
    #expect(status["runs"]?.array?.first == status["lastRun"])
    let failures = try #require(try served.json("/api/v1/failures")["failures"]?.array)
    let failed = try workspace.json("failed").of("failure")
    #expect(failures.count == 1 && failures[0]["reason"] == failed.first?["reason"])
    #expect(failures[0]["assets"]?.array == [failed.first?["asset"] ?? .null])
    #expect(try served.json("/api/v1/failures?q=name:a.jpg")["failures"]?.array == [])
    let words = try served.json("/api/v1/complete?q=kind:im")["words"]?.array ?? []
    #expect(words.first?["text"]?.string == "kind:image")
    let states = try served.json("/api/v1/complete?q=state:f")["words"]?.array ?? []
    #expect(states.map { $0["text"]?.string } == ["state:failed"])
    let problem = try served.get("/api/v1/assets?q=camra:x")
    #expect(problem.status == 400)
    #expect(try problem.json()["error"]?["message"]?.string?.contains("camera") == true)
    try served.stop()
  }

  @Test("Renditions are what `get` writes, stay the same, and are known by their tags")
  func renditions() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let id = try served.id("a.jpg")
    let asset = try served.json("/api/v1/assets/\(id)")
    let url = try #require(asset["thumbnail"]?.string)
    let answer = try served.get("/\(url)")
    let expected = try served.workspace.run("get", BytePath(id), "--rendition", "preview")
    #expect(answer.status == 200 && answer.body == expected.outputBytes)
    #expect(answer.headers["content-type"] == "image/jpeg")
    #expect(answer.headers["cache-control"]?.contains("immutable") == true)
    let tag = try #require(answer.headers["etag"])
    let known = try served.get("/\(url)", ["If-None-Match": tag])
    #expect(known.status == 304 && known.body.isEmpty)
    let head = try served.client.send("HEAD", "/\(url)")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(head.headers["content-length"] == "\(answer.body.count)")
    // The number alone is not enough, nor is the digest.
    let parts = url.split(separator: "/")
    let others = [
      "/r/\(String(repeating: "0", count: 64))/\(parts[2])/x", "/r/\(parts[1])/999999/x",
      "/r/x/1/x", "/r/\(parts[1])/x/x",
    ]
    for other in others { #expect(try served.get(other).status == 404, "\(other)") }
    try served.stop()
  }

  @Test("A rendition in a file is served from it, and not when it is damaged")
  func damagedRendition() throws {
    let workspace = try Workspace(
      stages: Workspace.stages(thumbnails: ["storage": "file"]))
    try workspace.put(try Pictures.jpeg(width: 300, height: 200), as: "a.jpg")
    try workspace.json("run")
    let served = try ServedLibrary(workspace)
    let id = try served.id("a.jpg")
    let url = try #require(try served.json("/api/v1/assets/\(id)")["thumbnail"]?.string)
    let expected = try workspace.run("get", BytePath(id), "--rendition", "preview")
    #expect(try served.get("/\(url)").body == expected.outputBytes)
    for file in try workspace.files(below: workspace.library.appending("renditions")) {
      let path = workspace.library.appending("renditions").appending(file)
      chmod(path.description, 0o600)
      try workspace.write(Array("other".utf8), to: path)
    }
    let damaged = try served.get("/\(url)")
    #expect(damaged.status == 404 && damaged.text.contains("verify --repair"))
    try served.stop()
  }

  @Test("Originals are downloads, whole or in part, whatever they are")
  func originals() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let id = try served.id("a.jpg")
    let bytes = try served.workspace.run("get", BytePath(id)).outputBytes
    let whole = try served.get("/o/\(id)")
    #expect(whole.status == 200 && whole.body == bytes)
    #expect(whole.headers["accept-ranges"] == "bytes")
    let tag = try #require(whole.headers["etag"])
    #expect(tag == "\"\(SHA256.digest(of: bytes).hex)\"")
    #expect(try served.get("/o/\(id)", ["If-None-Match": tag]).status == 304)
    for (range, part) in [
      ("bytes=0-9", 0..<10), ("bytes=10-", 10..<bytes.count),
      ("bytes=-7", bytes.count - 7..<bytes.count), ("bytes=5-99999999", 5..<bytes.count),
    ] {
      let answer = try served.get("/o/\(id)", ["Range": range])
      #expect(answer.status == 206 && answer.body == Array(bytes[part]), "\(range)")
      #expect(
        answer.headers["content-range"]
          == "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(bytes.count)")
    }
    let beyond = try served.get("/o/\(id)", ["Range": "bytes=99999999-"])
    #expect(beyond.status == 416 && beyond.headers["content-range"] == "bytes */\(bytes.count)")
    let same = try served.get("/o/\(id)", ["Range": "bytes=0-1", "If-Range": tag])
    #expect(same.status == 206 && same.body.count == 2)
    let other = try served.get("/o/\(id)", ["Range": "bytes=0-1", "If-Range": "\"x\""])
    #expect(other.status == 200 && other.body == bytes)
    for name in ["x.svg", "page.html", "<b>&\"'.jpg"] {
      let answer = try served.get("/o/\(try served.id(name))")
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/octet-stream")
      #expect(answer.headers["content-disposition"]?.hasPrefix("attachment; filename=") == true)
      #expect(answer.headers["content-security-policy"]?.contains("sandbox") == true)
      #expect(answer.headers["x-content-type-options"] == "nosniff")
    }
    try served.stop()
  }

  @Test("A page of facts alone has no links to what is beside the picture")
  func factsAlone() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let id = try served.id("a.jpg")
    let (whole, part) = (
      try served.get("/a/\(id)").text, try served.get("/a/\(id)?part=facts").text
    )
    #expect(whole.contains("rel=\"prev\"") || whole.contains("rel=\"next\""))
    #expect(!part.contains("rel=\"prev\"") && !part.contains("rel=\"next\""))
    let facts = { (page: String) in page.components(separatedBy: "<div class=\"facts\"")[1] }
    #expect(facts(part) == facts(whole))
    try served.stop()
  }

  @Test("A film is a download that pages may play")
  func film() throws {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    try workspace.put(Pictures.filmBoxes(width: 320, height: 180), as: "film.mp4")
    try workspace.json("run")
    let served = try ServedLibrary(workspace)
    let answer = try served.get("/o/\(try served.id("film.mp4"))", ["Range": "bytes=4-7"])
    #expect(answer.status == 206 && answer.text == "ftyp")
    #expect(answer.headers["content-type"] == "video/mp4")
    #expect(answer.headers["content-disposition"]?.hasPrefix("attachment;") == true)
    #expect(answer.headers["content-security-policy"]?.contains("sandbox") == true)
    let policy = try served.get("/").headers["content-security-policy"]
    #expect(policy?.contains("media-src 'self';") == true)
    try served.stop()
  }

  @Test("Pages work without scripts, and hostile names are only text in them")
  func pages() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let id = try served.id("<b>&\"'.jpg")
    for target in ["/", "/?q=kind:image&sort=name", "/a/\(id)", "/work", "/?sort=-size"] {
      let answer = try served.get(target)
      #expect(answer.status == 200, "\(target)")
      #expect(answer.headers["content-type"] == "text/html; charset=utf-8")
      let policy = answer.headers["content-security-policy"]
      #expect(policy?.contains("require-trusted-types-for 'script'") == true)
      #expect(!answer.text.contains("<b>") && answer.text.hasSuffix("</html>\n"), "\(target)")
      if target != "/work" { #expect(answer.text.contains("&lt;b&gt;&amp;&quot;&#x27;.jpg")) }
      let tag = try #require(answer.headers["etag"])
      #expect(try served.get(target, ["If-None-Match": tag]).status == 304)
    }
    // The first page leads to all others.
    let text = try served.get("/").text
    for match in text.matches(of: /(?:href|src)="((?:static|r|a)\/[^"]+)"/) {
      let target = match.output.1.replacing("&amp;", with: "&")
      #expect(try served.get("/\(target)").status == 200, "\(target)")
    }
    let work = try served.get("/work").text
    #expect(work.contains("<p class=\"reason\">The JPEG can&#x27;t be decoded"))
    let packed = try served.get("/", ["Accept-Encoding": "gzip"])
    #expect(packed.headers["content-encoding"] == "gzip" && packed.body.prefix(2) == [0x1F, 0x8B])
    let problem = try served.get("/?q=camra:x")
    #expect(problem.status == 400 && problem.text.contains("role=\"alert\""))
    #expect(try served.get("/day/2024-05-17").status == 200)
    for target in ["/day/x", "/a/x", "/a/\(UUID().uuidString)", "/nothing", "/work/", "/metrics/x"]
    {
      #expect(try served.get(target).status == 404, "\(target)")
    }
    // People who mistype an address get a page.
    #expect(try served.get("/nothing").text.contains("<main"))
    try served.stop()
  }

  @Test("The trash is out of sight unless a query asks for it")
  func trash() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let id = try served.id("b.jpg")
    try served.workspace.json("rm", BytePath(id))
    #expect(try served.json("/api/v1/grid")["count"]?.integer == 5)
    let trashed = try served.json("/api/v1/assets?q=is:trashed")["assets"]?.array
    #expect(trashed?.map { $0["id"]?.string } == [id])
    try served.stop()
  }

  @Test("Clients are told of changes by an import beside it, which they then see")
  func changes() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let stream = try served.client.connect()
    defer { close(stream) }
    let request = Array("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    try #require(send(stream, request, request.count, 0) == request.count)
    _ = try HTTPClient.read(stream, until: "event: status")
    let before = try served.json("/api/v1/grid")
    try served.workspace.put(try Pictures.jpeg(width: 100, height: 90), as: "new.jpg")
    try served.workspace.json("run")
    _ = try HTTPClient.read(stream, until: "event: change\ndata: {\"revision\":")
    let after = try served.json("/api/v1/grid")
    #expect(after["count"]?.integer == 7 && after["revision"] != before["revision"])
    // A catalog that is made anew is another file.
    try served.workspace.json("rebuild-catalog")
    try served.workspace.json("run", exit: 3)
    try served.run.wait(for: "the new catalog") {
      try served.get("/api/v1/grid").status == 200
        && served.json("/api/v1/grid")["count"]?.integer == 7
    }
    let id = try served.id("new.jpg")
    try served.run.wait(for: "its thumbnail") {
      guard let url = try served.json("/api/v1/assets/\(id)")["thumbnail"]?.string else {
        return false
      }
      return try served.get("/\(url)").status == 200
    }
    // Dispatch would end a process whose sandbox keeps it from looking at its own threads.
    let folder = "/proc/\(try served.server())/task"
    let threads = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
      try? String(contentsOfFile: "\(folder)/\($0)/comm", encoding: .utf8)
    }
    #expect(!threads.isEmpty && !threads.contains { $0.contains("qos") }, "\(threads)")
    try served.stop()
  }
}
