import Fixtures
import Foundation
import Glibc
import PipelineModel
import Synchronization
import Testing

/// `serve` as built: who may do what, where it listens, and how it ends.
@Suite("Access to what is served", .timeLimit(.minutes(5)))
struct ServeAccessTests {
  private static let token = "0123456789abcdef0123456789abcdef"

  @Test("With a token, everything but the login and the style asks for it")
  func token() throws {
    let workspace = try ServedLibrary.made()
    try workspace.write(Array("\(Self.token)\n".utf8), to: "token")
    chmod(workspace.root.appending("token").description, 0o600)
    let served = try ServedLibrary(workspace, "--token-file", "token")
    let id = try served.id("a.jpg")
    for target in ["/api/v1/grid", "/o/\(id)", "/r/0/0/x", "/api/v1/events"] {
      let answer = try served.get(target)
      #expect(answer.status == 401 && answer.headers["www-authenticate"] != nil, "\(target)")
    }
    let page = try served.get("/a/\(id)")
    #expect(page.status == 401 && page.text.contains("name=\"next\" value=\"a/\(id)\""))
    #expect(try served.get("/healthz").status == 200)
    let bearer = ["Authorization": "Bearer \(Self.token)"]
    #expect(try served.get("/api/v1/grid", bearer).status == 200)
    #expect(try served.get("/api/v1/grid", ["Authorization": "Bearer x"]).status == 401)
    let form = ["Content-Type": "application/x-www-form-urlencoded"]
    let wrong = try served.client.send("POST", "/login", form, body: "token=wrong&next=work")
    #expect(wrong.status == 401 && wrong.text.contains("This token is not right."))
    #expect(wrong.headers["set-cookie"] == nil)
    let right = try served.client.send(
      "POST", "/login", form, body: "token=\(Self.token)&next=a/\(id)")
    #expect(right.status == 303 && right.headers["location"] == "/a/\(id)")
    let cookie = try #require(right.headers["set-cookie"])
    #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
    let value = String(cookie.prefix { $0 != ";" })
    #expect(try served.get("/api/v1/grid", ["Cookie": value]).status == 200)
    #expect(try served.get("/api/v1/grid", ["Cookie": value + "0"]).status == 401)
    let away = try served.client.send(
      "POST", "/login", form, body: "token=\(Self.token)&next=//evil.example/")
    #expect(away.headers["location"] == "/")
    // Neither the command line nor what was printed has it.
    let line = try String(contentsOfFile: "/proc/\(served.server())/cmdline", encoding: .utf8)
    #expect(!line.contains(Self.token))
    try served.stop()
  }

  @Test(
    "Nothing can be changed unless it is allowed, asked for in JSON, and by the server's own pages")
  func changes() throws {
    let workspace = try ServedLibrary.made()
    let served = try ServedLibrary(workspace, "--allow", "tag")
    let id = try served.id("a.jpg")
    func post(
      _ body: String, _ headers: [String: String] = [:], to target: String = "/api/v1/edit"
    ) throws -> HTTPAnswer {
      try served.client.send(
        "POST", target, ["Content-Type": "application/json"].merging(headers) { $1 }, body: body)
    }
    let tag = "{\"ids\":[\"\(id)\"],\"tag\":{\"add\":[\"harvest\"]},\"rate\":4}"
    #expect(try post(tag, ["Content-Type": "text/plain"]).status == 415)
    #expect(try post(tag, ["Origin": "http://evil.example"]).status == 403)
    #expect(try post(tag, ["Sec-Fetch-Site": "cross-site"]).status == 403)
    #expect(try post(tag, ["Host": "evil.example"]).status == 421)
    #expect(try post("{\"ids\":[\"\(id)\"],\"trash\":true}").status == 403)
    #expect(try post("{\"q\":\"is:failed\"}", to: "/api/v1/retry").status == 403)
    #expect(try served.client.send("POST", "/work", body: tag).status == 405)
    for body in [
      "", "{}", "[]", "{\"ids\":[]}", "{\"ids\":[1],\"rate\":1}", "{\"q\":\"\",\"rate\":1}",
      "{\"q\":\"a\",\"rate\":9}", "{\"q\":\"a\",\"tag\":{\"add\":[\"\"]}}", "{\"q\":\"a\",\"x\":1}",
      "{\"q\":\"camra:x\",\"rate\":1}", "{\"q\":\"a\",\"ids\":[],\"rate\":1}",
    ] {
      let answer = try post(body)
      #expect(answer.status == 400, "\(body): \(answer.text)")
    }
    #expect(try workspace.asset(named: "a.jpg")["annotations"]?.array == [])
    let done = try post(tag, ["Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"])
    #expect(try done.status == 200 && done.json()["assets"]?.integer == 1, "\(done.text)")
    let asset = try served.json("/api/v1/assets/\(id)")
    #expect(asset["tags"]?.array == ["harvest"] && asset["rating"]?.integer == 4)
    // By a query, and while another process holds the library.
    try workspace.configure(
      sources: [["path": "inbox", "settle": HeldRun.window, "mode": "move"]])
    try workspace.put(try Pictures.jpeg(width: 80, height: 60), as: "held.jpg")
    let held = try HeldRun(workspace)
    let all = try post("{\"q\":\"kind:image\",\"tag\":{\"add\":[\"lake\"]}}")
    #expect(all.status == 200, "\(all.text)")
    #expect(try all.json()["assets"]?.integer ?? 0 > 2)
    _ = try held.finish()
    #expect(try workspace.json("list", "tag:lake").count == all.json()["assets"]?.integer)
    try served.stop()
  }

  @Test("Retrying and the trash work where they are allowed")
  func allowed() throws {
    let workspace = try ServedLibrary.made()
    let served = try ServedLibrary(workspace, "--allow", "trash,retry")
    #expect(try served.get("/").text.contains("data-allow=\"trash retry\""))
    func post(_ target: String, _ body: String) throws -> JSONValue {
      let answer = try served.client.send(
        "POST", target, ["Content-Type": "application/json"], body: body)
      try #require(answer.status == 200, "\(answer.text)")
      return try answer.json()
    }
    #expect(try post("/api/v1/retry", "{\"q\":\"is:failed\",\"stage\":\"identify\"}")["jobs"] == 0)
    let retried = try post("/api/v1/retry", "{\"q\":\"is:failed\",\"stage\":\"thumbnails\"}")
    #expect(retried["jobs"]?.integer == 1)
    #expect(try workspace.json("failed").of("failure").isEmpty)
    let id = try served.id("b.jpg")
    #expect(try post("/api/v1/edit", "{\"ids\":[\"\(id)\"],\"trash\":true}")["assets"] == 1)
    #expect(try workspace.asset(named: "b.jpg")["state"] == "trashed")
    #expect(try post("/api/v1/edit", "{\"ids\":[\"\(id)\"],\"restore\":true}")["assets"] == 1)
    #expect(try workspace.asset(named: "b.jpg")["state"] == "done")
    try served.stop()
  }

  @Test("What can't work is said at once")
  func refusals() throws {
    let workspace = try Workspace()
    func refused(_ words: BytePath..., code: Int32, _ part: String) throws {
      let outcome = try workspace.program.run(["serve"] + words)
      #expect(outcome.exitCode == code && outcome.errors.contains(part), "\(outcome.errors)")
    }
    try refused(code: 1, TestServers.areAsked ? "no catalog yet" : "no library")
    try workspace.put("text", as: "a.txt")
    try workspace.json("run")
    try refused("--listen", "0.0.0.0:0", code: 2, "--token-file FILE, or --insecure-no-auth")
    try refused("--listen", "nowhere", code: 2, "is no address to listen on")
    try refused("--allow", "rm", code: 2, "--allow has no value “rm”")
    try refused("--base-url", "pictures", code: 2, "is no base URL")
    try refused("--listen", "systemd", code: 2, "socket unit")
    try refused("--listen", "unix:pipeline.json", code: 1, "not a socket")
    try workspace.write(Array(Self.token.utf8), to: "token")
    chmod(workspace.root.appending("token").description, 0o644)
    try refused("--token-file", "token", code: 2, "Others may read")
    chmod(workspace.root.appending("token").description, 0o600)
    try workspace.write(Array("short".utf8), to: "token")
    try refused("--token-file", "token", code: 2, "at least 16")
    let served = try ServedLibrary(workspace)
    guard case .port(let port) = served.client.place else { return }
    try refused("--listen", BytePath("127.0.0.1:\(port)"), code: 1, "choose another port")
    try served.stop()
  }

  @Test("A Unix socket is the owner's, and is taken over when nobody listens")
  func socket() throws {
    let workspace = try ServedLibrary.made()
    let path = workspace.root.appending("web")
    for _ in 0..<2 {
      let run = try workspace.program.start([
        "serve", "--listen", "unix:web", "--base-url", "https://example.org/pictures/", "--json",
      ])
      try run.wait(for: "the socket") {
        String(decoding: run.outputSoFar, as: UTF8.self).contains("serving")
      }
      var status = stat()
      #expect(lstat(path.description, &status) == 0 && status.st_mode & 0o777 == 0o600)
      let client = HTTPClient(place: .socket(path))
      let page = try client.send("GET", "/", ["Host": "example.org"])
      #expect(page.status == 200 && page.text.contains("<base href=\"/pictures/\">"))
      let second = try workspace.run("serve", "--listen", "unix:web")
      #expect(second.exitCode == 1 && second.errors.contains("Another program"), "\(second.errors)")
      // Without a chance to tidy up, though the process that answers ends by itself, a moment later.
      run.signal(SIGKILL)
      _ = try run.wait(within: 20)
    }
  }

  @Test("The name of a Unix socket goes with the server, but not one that another has taken")
  func socketName() throws {
    let workspace = try ServedLibrary.made()
    let path = workspace.root.appending("web")
    for isTaken in [false, true] {
      let run = try workspace.program.start(["serve", "--listen", "unix:web", "--json"])
      try run.wait(for: "the socket") {
        String(decoding: run.outputSoFar, as: UTF8.self).contains("serving")
      }
      if isTaken {
        #expect(unlink(path.description) == 0)
        try workspace.write(Array("another's".utf8), to: "web")
      }
      run.signal(SIGTERM)
      _ = try run.wait(within: 20)
      #expect((access(path.description, F_OK) == 0) == isTaken)
    }
  }

  @Test("A socket of the service manager is taken over")
  func activation() throws {
    let workspace = try ServedLibrary.made()
    var program = workspace.program
    let script = """
      import os, socket, sys
      s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
      open("port", "w").write(str(s.getsockname()[1]) + "\\n")
      os.dup2(s.fileno(), 3)
      os.set_inheritable(3, True)
      os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
      os.execv(sys.argv[1], sys.argv[1:])
      """
    program.prefix = ["/usr/bin/python3", "-c", script]
    let run = try program.start(["serve", "--listen", "systemd", "--json"])
    try run.wait(for: "the server") { !run.outputSoFar.isEmpty }
    let text = String(decoding: try workspace.read(workspace.root.appending("port")), as: UTF8.self)
    let port = try #require(UInt16(text.dropLast()))
    #expect(try HTTPClient(place: .port(port)).send("GET", "/api/v1/grid").status == 200)
    run.signal(SIGTERM)
    #expect(try run.wait(within: 20).exitCode == 143)
  }

  @Test(
    "A change of the log's index by another process is awaited, also if that was killed in between",
    .about(.catalogFile))
  func halfWrittenIndex() throws {
    let workspace = try ServedLibrary.made()
    let served = try ServedLibrary(workspace)
    let target = "/api/v1/assets/\(try served.id("a.jpg"))"
    #expect(try served.get(target).status == 200)
    let index = open("\(workspace.library.appending("catalog.sqlite-shm"))", O_RDWR)
    try #require(index >= 0)
    defer { close(index) }
    // The second copy of the header has 48 bytes, and differs from the first until a change is done.
    let place: off_t = 48 + 16
    var byte: UInt8 = 0
    try #require(pread(index, &byte, 1, place) == 1)
    let whole = byte
    let isDone = Mutex(false)
    let ended = DispatchSemaphore(value: 0)
    let writer = Thread {
      while !isDone.withLock({ $0 }) {
        for value in [~whole, whole] {
          var value = value
          pwrite(index, &value, 1, place)
        }
      }
      ended.signal()
    }
    writer.start()
    let statuses = Result { try (0..<200).map { _ in try served.get(target).status } }
    // Also if a request throws: the descriptor's number may become that of another file.
    isDone.withLock { $0 = true }
    ended.wait()
    #expect(try statuses.get().allSatisfy { $0 == 200 })
    // What a process that was killed leaves half written is put in order by `serve` itself.
    byte = ~whole
    try #require(pwrite(index, &byte, 1, place) == 1)
    let deadline = ContinuousClock.now + .seconds(20)
    while try served.get(target).status != 200 { try #require(ContinuousClock.now < deadline) }
    served.run.signal(SIGTERM)
    #expect(try served.run.wait(within: 20).exitCode == 143)
  }

  @Test(
    "A signal ends it with open streams and connections; a kill of either process ends the other")
  func end() throws {
    let workspace = try ServedLibrary.made()
    for signal in [SIGINT, SIGTERM] {
      let served = try ServedLibrary(workspace)
      let server = try served.server()
      let stream = try served.client.connect()
      let idle = try served.client.connect()
      defer {
        close(stream)
        close(idle)
      }
      let request = Array("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
      send(stream, request, request.count, 0)
      _ = try HTTPClient.read(stream, until: "event: change")
      served.run.signal(signal)
      #expect(try served.run.wait(within: 20).exitCode == 128 + signal)
      #expect(kill(server, 0) != 0)
    }
    let killed = try ServedLibrary(workspace)
    let server = try killed.server()
    kill(server, SIGKILL)
    let outcome = try killed.run.wait(within: 20)
    #expect(outcome.exitCode == 1 && outcome.output.contains("answers requests ended"))
    let orphan = try ServedLibrary(workspace)
    let last = try orphan.server()
    orphan.run.signal(SIGKILL)
    _ = try orphan.run.wait(within: 20)
    let deadline = ContinuousClock.now + .seconds(20)
    while kill(last, 0) == 0, ContinuousClock.now < deadline { usleep(2000) }
    #expect(kill(last, 0) != 0)
  }

  @Test(
    "The process that answers is in the sandbox, and has nothing of the library open for writing"
  )
  func sandbox() throws {
    let served = try ServedLibrary(ServedLibrary.made())
    let id = try served.id("a.jpg")
    let url = try #require(try served.json("/api/v1/assets/\(id)")["thumbnail"]?.string)
    #expect(try served.get("/\(url)").status == 200)
    let server = try served.server()
    let status = try String(contentsOfFile: "/proc/\(server)/status", encoding: .utf8)
    #expect(status.contains("Seccomp:\t2\n") && status.contains("NoNewPrivs:\t1\n"))
    let manager = FileManager.default
    var databases = 0
    for name in try manager.contentsOfDirectory(atPath: "/proc/\(server)/fd") {
      guard
        let path = try? manager.destinationOfSymbolicLink(atPath: "/proc/\(server)/fd/\(name)"),
        path.hasPrefix(served.workspace.root.description)
      else { continue }
      let info = try String(contentsOfFile: "/proc/\(server)/fdinfo/\(name)", encoding: .utf8)
      let flags = try #require(info.firstMatch(of: /flags:\s+([0-7]+)/)?.output.1)
      #expect(try #require(Int(flags, radix: 8)) & 0o3 == 0, "\(path)")
      if path.hasSuffix(".sqlite-shm") { databases += 1 }
    }
    #expect(databases >= 2 || TestServers.areAsked)
    try served.stop()
  }
}
