import Files
import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import PostgreSQL
import Testing

/// A temporary folder with `pipeline.json`, an inbox and what the program makes there.
final class Workspace {
  let folder: TemporaryFolder
  /// The disk that all of it is on, where it is not an ordinary one.
  let disk: MemoryDisk?
  var program: BuiltProgram
  /// The digests of all files that were put somewhere, which must never be lost.
  private(set) var digests: Set<Digest> = []
  /// Where the catalog is, if it is not in the library.
  var catalogFolder: BytePath?
  /// The bucket that has the originals, if the library has not.
  let bucket: TestBucket?
  /// The database that has the catalog, if the library has not.
  let database: DatabaseLocation?
  /// Folders besides the inbox that files were put into.
  private var places: Set<BytePath> = []

  /// Makes it with a configuration for tests: files are complete at once.
  ///
  /// - Parameters:
  ///   - parent: where it is made; by default in the folder for temporary files.
  ///   - disk: a disk that it is made on, whose whole content it is.
  ///   - bucket: keeps the originals; by default the library does, unless all tests shall use servers.
  ///   - database: has the catalog; by default as above.
  init(
    sources: JSONValue = Workspace.inboxOnly,
    stages: JSONValue = Workspace.stages(), _ members: [String: JSONValue] = [:],
    in parent: BytePath? = nil, on disk: MemoryDisk? = nil, bucket: TestBucket? = nil,
    database: DatabaseLocation? = nil
  ) throws {
    self.bucket = try bucket ?? TestServers.bucket()
    self.database = try database ?? TestServers.database()
    folder = try disk?.folder ?? TemporaryFolder(in: parent)
    self.disk = disk
    program = BuiltProgram(in: folder.path)
    if let disk { program.prefix = disk.prefix }
    if let bucket = self.bucket { program.environment.merge(bucket.environment) { $1 } }
    try makeFolder(inbox)
    try configure(sources: sources, stages: stages, members)
  }

  var root: BytePath { folder.path }

  /// The absolute path by which the tests see a path, relative to the root or absolute.
  private func seen(_ path: BytePath) -> BytePath {
    let whole = path.isAbsolute ? path : root.appending(path)
    guard let disk, whole == root || whole.relative(to: root) != nil else { return whole }
    return disk.seen(whole)
  }

  var inbox: BytePath { root.appending("inbox") }
  var library: BytePath { root.appending("library") }

  /// One source whose files are complete at once, and are moved.
  static let inboxOnly: JSONValue = [["path": "inbox", "settle": "0ms", "mode": "move"]]

  /// The usual two stages.
  ///
  /// - Parameter isolation: `none` where hundreds of runs would spend most of their time on starting
  ///   workers that nothing depends on.
  static func stages(
    sizes: [String: Int] = ["grid": 64, "preview": 128], options: [String: JSONValue] = [:],
    thumbnails: [String: JSONValue] = [:], isolation: String = "process"
  ) -> JSONValue {
    var options = options
    options["sizes"] = .array(
      sizes.sorted { $0.key < $1.key }.map {
        ["name": .string($0.key), "maxPixelSize": .integer($0.value)]
      })
    var stage: [String: JSONValue] = [
      "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"],
      "isolation": .string(isolation),
    ]
    stage.merge(thumbnails) { $1 }
    stage["options"] = .object(options)
    let identify: JSONValue = [
      "name": "identify", "plugin": "identify", "isolation": .string(isolation),
    ]
    return [identify, .object(stage)]
  }

  /// Writes `pipeline.json`.
  func configure(
    sources: JSONValue = Workspace.inboxOnly,
    stages: JSONValue = Workspace.stages(), _ members: [String: JSONValue] = [:]
  ) throws {
    var all: [String: JSONValue] = ["library": "library", "sources": sources, "stages": stages]
    if let bucket { all["originals"] = .string(bucket.location) }
    if let database { all["catalog"] = .string(database.uri) }
    all.merge(members) { $1 }
    try write(Array(JSONText.encodePretty(JSONValue.object(all)).utf8), to: "pipeline.json")
  }

  /// The key of what is in a bucket, if there is one: originals, and what was put aside of them.
  private func key(_ path: BytePath) -> String? {
    let whole = path.isAbsolute ? path : root.appending(path)
    let key = whole.relative(to: library)?.description
    return key.flatMap { ["originals", "damaged"].contains($0.prefix { $0 != "/" }) ? $0 : nil }
  }

  // MARK: Files

  func makeFolder(_ path: BytePath) throws {
    try seen(path).withCString { path in
      guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw POSIXError(.EIO) }
    }
  }

  /// Writes a file, by a path relative to the root.
  func write(_ bytes: [UInt8], to path: BytePath) throws {
    if let bucket, let key = key(path) { return try bucket.write(bytes, to: key) }
    let path = seen(path)
    // A program that another test starts now must not inherit a descriptor that can write.
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
    let descriptor = path.withCString { open($0, flags, 0o644) }
    try #require(descriptor >= 0, "\(path.printable) can't be written: \(errno)")
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      try #require(count > 0)
      rest = rest.dropFirst(count)
    }
  }

  /// Puts a file into the inbox, or another folder, to be taken.
  func put(_ bytes: [UInt8], as name: BytePath, in folder: BytePath? = nil) throws {
    let folder = folder ?? inbox
    places.insert(folder)
    if !bytes.isEmpty { digests.insert(SHA256.digest(of: bytes)) }
    try write(bytes, to: folder.appending(name))
  }

  /// Puts a text file into the inbox, or another folder.
  func put(_ text: String, as name: BytePath, in folder: BytePath? = nil) throws {
    try put(Array(text.utf8), as: name, in: folder)
  }

  func read(_ path: BytePath) throws -> [UInt8] {
    if let bucket, let key = key(path) { return try bucket.read(key) }
    let path = seen(path)
    return try Descriptor.openFolder(path.parent).readFile(path.lastComponent, limit: 1 << 30)
  }

  func exists(_ path: BytePath) -> Bool {
    if let bucket, let key = key(path), key.contains("/") { return bucket.exists(key) }
    var status = stat()
    return seen(path).withCString { lstat($0, &status) } == 0
  }

  /// Removes a file, behind the program's back if it is an original.
  func remove(_ path: BytePath) throws {
    if let bucket, let key = key(path) {
      try removeCache()
      return try bucket.remove(key)
    }
    try seen(path).withCString { guard unlink($0) == 0 else { throw POSIXError(.EIO) } }
  }

  /// Changes an original, behind the program's back.
  func damage(_ path: BytePath, _ bytes: [UInt8]) throws {
    try removeCache()
    if bucket == nil { try seen(path).withCString { try #require(chmod($0, 0o644) == 0) } }
    try write(bytes, to: path)
  }

  /// Removes the local copies of what is in a bucket.
  func removeCache() throws {
    let cache = library.appending("cache")
    if exists(cache) { try FileManager.default.removeItem(atPath: seen(cache).description) }
  }

  /// Removes the catalog, as a disk or a server does that is lost.
  func removeCatalog() throws {
    if let database {
      let connection = try PostgreSQLConnection(database, applicationName: "tests")
      defer { connection.close() }
      try connection.execute("DROP SCHEMA pipeline CASCADE")
      return
    }
    for suffix in ["", "-wal", "-shm"] {
      unlink(library.appending("catalog.sqlite\(suffix)").description)
    }
  }

  /// What is at a name, or `nil` if it is gone: a program that runs takes files meanwhile.
  private func kind(of name: BytePath, in folder: Descriptor) throws -> FileStatus.Kind? {
    do {
      return try folder.status(of: name).kind
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// All files below a folder, relative to it; what is no folder counts as a file.
  func files(below folder: BytePath) throws -> [BytePath] {
    if let bucket, let key = key(folder) { return try bucket.files(below: key) }
    var found: [BytePath] = []
    guard exists(folder) else { return [] }
    func walk(_ path: BytePath, _ descriptor: Descriptor) throws {
      for entry in try descriptor.entries() {
        let inner = path.appending(entry.name)
        guard let kind = try kind(of: entry.name, in: descriptor) else { continue }
        if kind == .folder {
          do {
            try walk(inner, .openFolder(entry.name, in: descriptor, followsLinks: false))
          } catch let error as FileError where error.code == .notFound {
            // The program removed it meanwhile.
          }
        } else {
          found.append(inner)
        }
      }
    }
    try walk(BytePath(bytes: []), .openFolder(seen(folder)))
    return found.sorted(by: <)
  }

  /// Where files that were put may still be.
  var sourceFolders: [BytePath] { places.sorted(by: <) }

  // MARK: Runs

  /// Runs the program.
  func run(_ words: BytePath..., within seconds: Double = 60) throws -> BuiltProgramOutcome {
    try program.run(words, within: seconds)
  }

  /// Runs the program with `--json` and expects an exit code.
  @discardableResult
  func json(
    _ words: BytePath..., exit: Int32 = 0, at location: SourceLocation = #_sourceLocation
  ) throws -> [JSONValue] {
    let outcome = try program.run(words + ["--json"])
    try #require(
      outcome.exitCode == exit,
      """
      \(words.map(\.printable)) ended with \(outcome.exitCode ?? -1), signal \
      \(outcome.signal ?? 0): \(outcome.output)\(outcome.errors)
      """,
      sourceLocation: location)
    return try outcome.events()
  }

  /// The assets, as `list` shows them.
  func assets() throws -> [JSONValue] { try json("list") }

  /// What the catalog says of each asset, as far as it comes from the manifest.
  func facts() throws -> [[String: JSONValue]] {
    try assets().map { asset in
      let names: Set = [
        "id", "source", "path", "name", "digest", "modified", "importedAt", "run", "tags",
      ]
      return (asset.object ?? [:]).filter { names.contains($0.key) }
    }
  }

  /// The asset whose file had a name.
  func asset(
    named name: String, at location: SourceLocation = #_sourceLocation
  ) throws -> JSONValue {
    try #require(
      try assets().first { $0["name"]?.string == name }, "no asset “\(name)”",
      sourceLocation: location)
  }

  /// A rendition's bytes, checked against what `list` says of it.
  func rendition(_ name: String, of asset: JSONValue) throws -> PicturesReading {
    let id = try #require(asset["id"]?.string)
    let outcome = try run("get", BytePath(id), "--rendition", BytePath(name))
    try #require(outcome.exitCode == 0, "\(outcome.errors)")
    let reading = try PicturesReading(outcome.outputBytes)
    let record = asset["renditions"]?.array?.first { $0["name"]?.string == name }
    #expect(record?["width"]?.integer == reading.width)
    #expect(record?["height"]?.integer == reading.height)
    #expect(record?["bytes"]?.integer == outcome.outputBytes.count)
    return reading
  }
}

extension BytePath {
  /// Calls `body` with the path as a C string.
  func withCString<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
    try (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
      // swift-format-ignore: NeverForceUnwrap, there is at least the zero
      try body(buffer.baseAddress!)
    }
  }
}

extension [JSONValue] {
  /// The events of one kind.
  func of(_ event: String) -> [JSONValue] { filter { $0["event"]?.string == event } }

  /// The last line of a run.
  var summary: JSONValue { last { $0["event"]?.string == "summary" } ?? .null }

  /// The outcome of the path with a name.
  func outcome(_ name: String) -> String? {
    let event = of("file").first { $0["path"]?.string?.hasSuffix("/\(name)") == true }
    return event?["outcome"]?.string
  }
}
