import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing
import Vips

/// What `doctor` says of machines that are fit, and of such that are not.
@Suite("`doctor`", .timeLimit(.minutes(5)))
struct DoctorVerbTests {
  /// What every machine is asked.
  private static let machine = [
    "kernel", "landlock", "namespaces", "seccomp", "worker", "forks", "cgroup", "inotify",
    "inotify watches", "inotify instances", "inotify queue", "file system", "fsync", "rename",
    "reflink", "hard links", "read leases", "free space", "serve", "plugin identify",
    "plugin thumbnail",
    "orientation", "cut jpeg", "cut png",
  ]
  /// Formats that libvips decodes, with its loader; HEIF's does not tell which codecs it has.
  private static let loaders: [String: PictureLoader] = [
    "jpeg": .jpeg, "png": .png, "webp": .webp, "gif": .gif, "tiff": .tiff, "jp2": .jp2k,
    "jxl": .jxl, "ppm": .pnm, "hdr": .hdr, "exr": .exr, "fits": .fits, "svg": .svg, "pdf": .pdf,
  ]
  /// Formats that decoders in libraries of their own decode.
  private static let decoders = [
    "magick": ["bmp", "ico", "pcx", "tga", "psd"], "raw": ["dng"], "video": ["mp4", "webm"],
    "openjpeg": ["jp2 ycc"],
  ]
  private static let formats =
    loaders.keys + ["heic", "avif"] + decoders.values.flatMap(\.self)
  /// Formats whose samples don't have 24 by 16 pixels.
  private static let otherSizes: Set = ["svg", "pdf", "dng"]

  private static func decode(_ formats: some Sequence<String>) -> [String] {
    formats.map { "decode \($0)" }
  }

  /// Runs it, and returns the checks by their names.
  private func checks(
    _ program: BuiltProgram, exit: Int32 = 0, at location: SourceLocation = #_sourceLocation
  ) throws -> [String: JSONValue] {
    let outcome = try program.run(["doctor", "--json"], within: 120)
    try #require(
      outcome.exitCode == exit, "\(outcome.output)\(outcome.errors)", sourceLocation: location)
    var found: [String: JSONValue] = [:]
    var counts: [String: Int] = [:]
    for check in try outcome.events("check") {
      let name = try #require(check["name"]?.string)
      let state = try #require(check["state"]?.string)
      #expect(["ok", "warning", "failed", "unknown"].contains(state))
      #expect(check["detail"]?.string?.isEmpty == false)
      #expect(check["advice"]?.string != nil || check["advice"] == .null)
      #expect(state != "failed" || check["advice"]?.string != nil, "\(name)")
      #expect(found.updateValue(check, forKey: name) == nil, "\(name) is there twice")
      counts[state, default: 0] += 1
    }
    let summary = try outcome.event("summary")
    for (key, state) in [("ok", "ok"), ("warnings", "warning"), ("failed", "failed")] {
      #expect(summary[key]?.integer == counts[state, default: 0])
    }
    return found
  }

  private func expectStates(
    _ checks: [String: JSONValue], _ names: [String], _ state: String,
    at location: SourceLocation = #_sourceLocation
  ) {
    for name in names {
      #expect(
        checks[name]?["state"]?.string == state,
        "\(name): \(checks[name]?["detail"]?.string ?? "not there")", sourceLocation: location)
    }
  }

  /// Makes a plugin in C whose answer is always the same, in a folder of its own.
  private func makePlugin(_ id: String, answer: String, in workspace: Workspace) throws {
    let library = try CompiledC.library(
      "counting", defining: ["ID": "\"\(id)\"", "ANSWER": "\"\(answer)\""])
    try workspace.makeFolder(BytePath(id))
    try workspace.write(library.bytes, to: BytePath("\(id)/libpipeline-\(id).so"))
  }

  @Test(
    "An ordinary user is told truly whether workers have a root folder of their own",
    .enabled(if: Unprivileged.isPossible, "The program's folder is not open to other users."))
  func namespaces() throws {
    let workspace = try Workspace()
    try Unprivileged.handOver(workspace)
    let words = Unprivileged.prefix + ["unshare", "--user", "--mount", "true"]
    let isPossible =
      (try? Unprivileged.shell(words.joined(separator: " "), in: workspace)) != nil
    let outcome = try workspace.program.run(["doctor", "--json"], within: 120)
    let check = try outcome.events("check").first { $0["name"] == "namespaces" }
    #expect(check?["state"] == (isPossible ? "ok" : "warning"), "\(outcome.output)")
  }

  @Test(
    "A machine that is fit passes, beside a running watch, and nothing is left behind",
    .about(.soundMachine))
  func healthy() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 64, height: 48), as: "a.jpg")
    try workspace.json("run")
    let before = try workspace.files(below: "library")
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(workspace.root)").sorted()
    let found = try checks(workspace.program)
    #expect(found.count >= Self.machine.count + Self.formats.count + 2)
    expectStates(
      found,
      [
        "kernel", "seccomp", "worker", "serve", "library", "stages", "fsync", "rename",
        "hard links",
        "free space", "plugin identify", "plugin thumbnail", "orientation", "cut jpeg", "cut png",
      ], "ok")
    #expect(found["stages"]?["detail"]?.string?.contains("thumbnails") == true)
    #expect(try workspace.files(below: "library") == before)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(workspace.root)").sorted() == names)
    // What a watch writes meanwhile is its own.
    let watch = try workspace.program.start(["watch"])
    try workspace.waitForHolder(watch)
    let beside = try checks(workspace.program)
    #expect(beside.mapValues { $0["state"] } == found.mapValues { $0["state"] })
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 60).exitCode == 143)
  }

  @Test("Without a configuration the machine alone is checked, a line for each thing")
  func machineAlone() throws {
    let folder = try TemporaryFolder()
    let program = BuiltProgram(in: folder.path)
    let found = try checks(program)
    for name in Self.machine + Self.decode(Self.formats) {
      #expect(found[name] != nil, "\(name)")
    }
    #expect(found["library"] == nil && found["stages"] == nil)
    let outcome = try program.run(["doctor"])
    #expect(outcome.exitCode == 0)
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.count == found.count)
    for line in lines { #expect(line.firstMatch(of: /^(ok|warning|unknown) +[a-z]/) != nil) }
    #expect(try program.run(["doctor", "-q"]).output == "")
    #expect(try program.run(["doctor", "more"]).exitCode == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)").isEmpty)
  }

  @Test("A server that is missing or can't start is a warning, one without a sandbox a failure")
  func server() throws {
    let copy = try BuiltCopy(without: [])
    let missing = try checks(copy.program)
    expectStates(missing, ["serve"], "warning")
    #expect(missing["serve"]?["detail"]?.string?.contains("is missing") == true)
    try copy.add(server: "exit 1")
    let ended = try checks(copy.program)
    expectStates(ended, ["serve"], "warning")
    #expect(ended["serve"]?["advice"]?.string?.contains("libmicrohttpd12") == true)
    try copy.add(server: #"read -r line <&4; echo '{"error":"No sandbox."}' >&4"#)
    let open = try checks(copy.program, exit: 3)
    expectStates(open, ["serve"], "failed")
    #expect(open["serve"]?["detail"] == "No sandbox.")
  }

  @Test("A broken plugin is a warning, and a failure where a stage uses it", .about(.soundMachine))
  func brokenPlugin() throws {
    let workspace = try Workspace()
    try workspace.makeFolder(workspace.root.appending("own"))
    try workspace.write(Array("no library".utf8), to: "own/libpipeline-broken.so")
    try workspace.configure(["plugins": ["own"]])
    let unused = try checks(workspace.program)
    expectStates(unused, ["plugin broken"], "warning")
    expectStates(unused, ["plugin identify", "stages"], "ok")
    try workspace.configure(
      stages: [["name": "own", "plugin": "broken"]], ["plugins": ["own"]])
    expectStates(try checks(workspace.program, exit: 3), ["plugin broken", "stages"], "failed")
    let text = try workspace.run("doctor", "-q")
    #expect(text.exitCode == 3)
    #expect(text.output.contains("FAILED   plugin broken") && !text.output.contains("ok  "))
    // A program that is not there.
    try workspace.configure(
      stages: [["name": "own", "plugin": "gone", "command": ["own/gone.py"]]])
    expectStates(try checks(workspace.program, exit: 3), ["plugin gone", "stages"], "failed")
  }

  @Test("Decoders that take half a picture, or lay it on its side, are told of")
  func carelessDecoder() throws {
    let workspace = try Workspace()
    let answer = #"""
      {\"outcome\":\"done\",\"renditions\":[{\"name\":\"all\",\"path\":\"made\",\#
      \"mediaType\":\"image/jpeg\",\"width\":24,\"height\":16}]}
      """#
    try makePlugin("thumbnail", answer: answer, in: workspace)
    try workspace.configure(stages: [], ["plugins": ["thumbnail"]])
    let found = try checks(workspace.program, exit: 3)
    expectStates(
      found, Self.decode(Self.formats.filter { !Self.otherSizes.contains($0) }), "ok")
    expectStates(found, Self.decode(Self.otherSizes), "failed")
    expectStates(found, ["orientation", "cut jpeg", "cut png"], "failed")
    #expect(found["decode svg"]?["advice"]?.string?.contains("libvips") == true)
    #expect(found["decode dng"]?["advice"]?.string?.contains("libraw20") == true)
  }

  @Test(
    "A format that can't be decoded is a warning that names what to install", .about(.soundMachine))
  func missingDecoder() throws {
    let workspace = try Workspace()
    let answer = #"""
      {\"outcome\":\"failed\",\"failure\":{\"class\":\"environment\",\"reason\":\"No loader.\"}}
      """#
    try makePlugin("thumbnail", answer: answer, in: workspace)
    try workspace.configure(stages: [], ["plugins": ["thumbnail"]])
    let found = try checks(workspace.program)
    expectStates(found, Self.decode(Self.formats), "warning")
    expectStates(found, ["orientation", "cut jpeg", "cut png"], "unknown")
    for (format, package) in [
      ("heic", "libheif1"), ("pdf", "libpoppler-glib8"), ("psd", "libmagickcore-6"),
      ("dng", "libraw20"), ("jp2 ycc", "libopenjp2-7"), ("mp4", "libavcodec59"),
    ] {
      #expect(found["decode \(format)"]?["advice"]?.string?.contains(package) == true, "\(format)")
    }
  }

  @Test("Every kind that this machine and this build can decode is decoded")
  func everyKind() throws {
    let folder = try TemporaryFolder()
    let found = try checks(BuiltProgram(in: folder.path))
    for (format, loader) in Self.loaders {
      let isThere = VipsLibrary.loaders.contains(loader)
      expectStates(found, ["decode \(format)"], isThere ? "ok" : "warning")
    }
    for (name, formats) in Self.decoders {
      let isThere = BuiltCopy.decoders.contains(name)
      expectStates(found, Self.decode(formats), isThere ? "ok" : "warning")
      for plugin in ["plugin identify", "plugin thumbnail"] {
        let detail = try #require(found[plugin]?["detail"]?.string)
        #expect(detail.contains(", decoder \(name)") == isThere, "\(detail)")
        #expect(detail.contains(", without decoder \(name)") != isThere, "\(detail)")
      }
    }
  }

  @Test(
    "A decoder that the build left out is a warning that says so, and `plugins` says it in a word",
    arguments: [
      ("raw", "raw files", "libraw-dev"), ("magick", "PSD", "libmagickcore-dev"),
      ("video", "films", "libavformat-dev"), ("openjpeg", "JPEG 2000", "libopenjp2-7-dev"),
    ])
  func leftOut(decoder: String, kinds: String, package: String) throws {
    let copy = try BuiltCopy(without: [decoder])
    let found = try checks(copy.program)
    for (name, formats) in Self.decoders {
      let isThere = BuiltCopy.decoders.contains(name) && name != decoder
      expectStates(found, Self.decode(formats), isThere ? "ok" : "warning")
    }
    for name in Self.decode(Self.decoders[decoder] ?? []) {
      let detail = try #require(found[name]?["detail"]?.string)
      #expect(detail.contains(kinds) && detail.contains("left out"), "\(detail)")
      let advice = try #require(found[name]?["advice"]?.string)
      for words in ["kept", "no thumbnails", package, "build", "again"] {
        #expect(advice.contains(words), "\(advice)")
      }
    }
    for plugin in try copy.program.run(["plugins", "--json"], within: 60).events("plugin") {
      guard ["identify", "thumbnail"].contains(plugin["id"]?.string) else { continue }
      let runtime = try #require(plugin["runtime"]?.string)
      #expect(runtime.contains(", without decoder \(decoder)"), "\(runtime)")
      #expect(!runtime.contains(", decoder \(decoder)"), "\(runtime)")
    }
    let detail = try #require(found["plugin thumbnail"]?["detail"]?.string)
    #expect(detail.contains("without decoder \(decoder)"), "\(detail)")
  }

  @Test(
    "A library that can't be written fails, and what can't be tried is unknown",
    .enabled(if: Unprivileged.isPossible, "The program's folder is not open to other users."))
  func readOnly() throws {
    let workspace = try Workspace()
    try workspace.json("run")
    try Unprivileged.handOver(workspace)
    try Unprivileged.shell("chmod 0555 . library", in: workspace)
    let trials = ["fsync", "rename", "reflink", "hard links", "read leases"]
    let found = try checks(workspace.program, exit: 3)
    expectStates(found, ["library"], "failed")
    expectStates(found, trials, "unknown")
    expectStates(found, ["worker", "orientation", "cut jpeg", "decode png"], "ok")
    // Without a configuration nobody has said that a library is to be there.
    try Unprivileged.shell("chmod 0755 . && rm pipeline.json && chmod 0555 .", in: workspace)
    expectStates(try checks(workspace.program), trials, "unknown")
  }

  @Test(
    "A source that can't be read fails, as does one that can't be emptied if its files are moved",
    .about(.soundMachine),
    .enabled(if: Unprivileged.isPossible, "The program's folder is not open to other users."))
  func sources() throws {
    let workspace = try Workspace()
    try workspace.makeFolder("other")
    try workspace.configure(sources: [
      ["path": "inbox", "mode": "move"], ["path": "other", "mode": "copy"],
    ])
    try Unprivileged.handOver(workspace)
    expectStates(try checks(workspace.program), ["source 1", "source 2"], "ok")
    try Unprivileged.shell("chmod 0555 inbox other", in: workspace)
    let closed = try checks(workspace.program, exit: 3)
    expectStates(closed, ["source 1"], "failed")
    expectStates(closed, ["source 2"], "ok")
    #expect(closed["source 1"]?["detail"]?.string?.contains("nothing can be removed") == true)
    try Unprivileged.shell("chmod 0755 inbox && chmod 0111 other", in: workspace)
    let hidden = try checks(workspace.program, exit: 3)
    expectStates(hidden, ["source 1"], "ok")
    expectStates(hidden, ["source 2"], "failed")
  }

  @Test("A library that others may write fails")
  func shared() throws {
    let workspace = try Workspace()
    try workspace.json("run")
    try Unprivileged.shell("chmod 0777 library", in: workspace)
    let found = try checks(workspace.program, exit: 3)
    expectStates(found, ["library"], "failed")
    #expect(found["library"]?["detail"]?.string?.contains("chmod go-w") == true)
  }

  @Test("Too little free space fails")
  func space() throws {
    let workspace = try Workspace()
    try workspace.configure(["reserve": "1000000GiB"])
    expectStates(try checks(workspace.program, exit: 3), ["free space"], "failed")
  }
}
