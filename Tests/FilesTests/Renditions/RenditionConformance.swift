import Files
import Hashing
import PipelineModel
import Renditions

/// What every store of renditions has to do, as checks that say what one does not.
struct RenditionConformance {
  /// A store, and what it takes files from.
  protocol Harness {
    var store: any RenditionStore { get }
    /// A folder on the store's file system for files on their way in.
    var incoming: Descriptor { get }
    /// Opens the same store again, as a later process does.
    func reopen() throws -> any RenditionStore
  }

  private let harness: any Harness
  private var faults: [String] = []

  /// Runs all checks.
  ///
  /// - Returns: a sentence for each that fails.
  static func faults(of harness: any Harness) throws -> [String] {
    var conformance = RenditionConformance(harness: harness)
    let checks: [(inout RenditionConformance) throws -> Void] = [
      { try $0.checkPut() }, { try $0.checkNames() }, { try $0.checkReplacing() },
      { try $0.checkStored() }, { try $0.checkFailure() }, { try $0.checkMissing() },
      { try $0.checkRemove() }, { try $0.checkOpen() }, { try $0.checkReopening() },
    ]
    for check in checks {
      do {
        try check(&conformance)
      } catch let error as FileError {
        conformance.faults.append("a check ends early: \(error.message)")
      }
    }
    return conformance.faults
  }

  private init(harness: any Harness) { self.harness = harness }

  private var store: any RenditionStore { harness.store }

  private mutating func require(_ condition: Bool, _ sentence: String) {
    if !condition { faults.append(sentence) }
  }

  private func name(_ rendition: String, stage: String = "stage") -> RenditionName {
    let digest = SHA256.digest(of: Array("original".utf8))
    return RenditionName(
      stage: stage, owner: digest.hex, fingerprint: Fingerprint(digest), rendition: rendition,
      mediaType: "image/jpeg")
  }

  private func written(_ text: String, as rendition: String) -> IncomingRendition {
    IncomingRendition(name: name(rendition), content: .bytes(Array(text.utf8)))
  }

  /// A file, as plugins make them.
  private func file(_ text: String, as rendition: String) throws -> IncomingRendition {
    let name = BytePath("made.\(rendition)")
    try harness.incoming.writeDurably(Array(text.utf8), as: name)
    return IncomingRendition(
      name: self.name(rendition),
      content: .file(
        try Descriptor.openRegular(name, in: harness.incoming), folder: harness.incoming,
        name: name,
        digest: SHA256.digest(of: Array(text.utf8))))
  }

  private func stored(_ path: String, _ text: String, as rendition: String) -> IncomingRendition {
    IncomingRendition(
      name: name(rendition),
      content: .stored(path: path, digest: SHA256.digest(of: Array(text.utf8))))
  }

  /// The bytes of a file elsewhere, which stays.
  private func copied(_ text: String, as rendition: String) throws -> IncomingRendition {
    let name = BytePath("copied.\(rendition)")
    try harness.incoming.writeDurably(Array(text.utf8), as: name)
    return IncomingRendition(
      name: self.name(rendition),
      content: .copy(
        of: try Descriptor.openRegular(name, in: harness.incoming),
        digest: SHA256.digest(of: Array(text.utf8))))
  }

  private func put(_ rendition: IncomingRendition) throws -> String {
    let paths = try store.put([rendition])
    guard let path = paths.first, paths.count == 1 else {
      throw FileError(.other, "put gives \(paths.count) paths for one rendition", path: nil)
    }
    return path
  }

  private func text(at path: String, of store: (any RenditionStore)? = nil) throws -> String {
    let bytes = try (store ?? self.store).open(path).readToEnd()
    return String(decoding: bytes, as: UTF8.self)
  }

  private mutating func checkPut() throws {
    require(try store.put([]).isEmpty, "put of nothing gives paths")
    let old = try put(written("old", as: "old"))
    let group = [
      try file("from a file", as: "put1"), written("written", as: "put2"),
      stored(old, "old", as: "put3"), try file("", as: "put4"), written("", as: "put5"),
      try copied("copied", as: "put6"), try copied("", as: "put7"),
    ]
    let texts = ["from a file", "written", "old", "", "", "copied", ""]
    let paths = try store.put(group)
    require(paths.count == texts.count, "put does not give a path for each rendition")
    for (path, text) in zip(paths, texts) {
      require(try self.text(at: path) == text, "put stores other bytes, or under another path")
      require(try store.size(of: path) == text.utf8.count, "size is not that of the bytes")
      require(path.hasPrefix("\(store.place)/"), "a path does not begin with the place")
      for _ in 1...2 {
        let copy = try store.open(path, copyOf: SHA256.digest(of: Array(text.utf8))).readToEnd()
        require(copy == Array(text.utf8), "a local copy has other bytes")
      }
    }
    // A group that could not be stored as a whole is stored again, one by one.
    for (rendition, text) in zip(group, texts) {
      require(
        try self.text(at: put(rendition)) == text, "what is stored already can't be stored again")
    }
  }

  private mutating func checkNames() throws {
    let base = name("name")
    var others = Array(repeating: base, count: 5)
    others[0].stage = "other"
    others[1].owner = SHA256.digest(of: [1]).hex
    others[2].fingerprint = Fingerprint(SHA256.digest(of: [2]))
    others[3].rendition = "name2"
    others[4].mediaType = "image/png"
    let all = [base] + others
    let paths = try store.put(
      all.enumerated().map {
        IncomingRendition(name: $1, content: .bytes(Array("number \($0)".utf8)))
      })
    for (number, path) in paths.enumerated() {
      require(
        try text(at: path) == "number \(number)", "a rendition overwrites one of another name")
    }
  }

  private mutating func checkReplacing() throws {
    let source = try put(written("a source", as: "source"))
    let next: [(text: String, make: (RenditionConformance) throws -> IncomingRendition)] = [
      ("first", { $0.written("first", as: "replaced") }),
      ("second", { try $0.file("second", as: "replaced") }),
      ("3rd", { $0.written("3rd", as: "replaced") }),
      ("a source", { $0.stored(source, "a source", as: "replaced") }),
      ("4th", { try $0.copied("4th", as: "replaced") }),
      ("fifth", { try $0.file("fifth", as: "replaced") }),
    ]
    for (text, make) in next {
      let path = try put(make(self))
      require(
        try self.text(at: path) == text && store.size(of: path) == text.utf8.count,
        "what was stored last does not take the place of what was stored before")
    }
    require(
      try text(at: source) == "a source", "what replaces a copy changes the bytes it was made of")
  }

  private mutating func checkStored() throws {
    let first = try put(written("to be kept", as: "kept1"))
    let second = try put(stored(first, "to be kept", as: "kept2"))
    require(first != second, "a copy has the path of what it was made of")
    require(try text(at: first) == "to be kept", "a rendition that is copied does not stay")
    try store.remove(first)
    require(
      try store.size(of: second) == 10 && text(at: second) == "to be kept",
      "a copy goes with what it was made of")
  }

  private mutating func checkFailure() throws {
    let kept = try put(written("stays", as: "failure1"))
    let path = try put(written("lost", as: "lost"))
    try store.remove(path)
    let lost = stored(path, "lost", as: "failure2")
    let made = try file("made", as: "failure3")
    var isStored = true
    do throws(FileError) { _ = try store.put([made, lost]) } catch { isStored = false }
    require(!isStored, "put says that it has stored a copy of what is missing")
    require(try text(at: kept) == "stays", "a group that can't be stored takes others with it")
    require(
      try text(at: put(made)) == "made", "what was in a group that failed can't be stored alone")
  }

  private mutating func checkMissing() throws {
    let path = try put(written("soon gone", as: "missing"))
    try store.remove(path)
    require(try store.size(of: path) == nil, "what is missing has a size")
    var code: FileError.Code?
    do throws(FileError) { _ = try store.open(path) } catch { code = error.code }
    require(code == .notFound, "open does not say that a rendition is missing")
    code = nil
    let digest = SHA256.digest(of: Array("never there".utf8))
    do throws(FileError) { _ = try store.open(path, copyOf: digest) } catch { code = error.code }
    require(code == .notFound, "open finds a copy of what is missing")
  }

  private mutating func checkRemove() throws {
    let paths = try store.put([written("one", as: "remove1"), written("two", as: "remove2")])
    try store.remove(paths[0])
    require(try store.size(of: paths[0]) == nil, "remove leaves the rendition")
    require(try text(at: paths[1]) == "two", "remove takes another rendition with it")
    do throws(FileError) {
      try store.remove(paths[0])
    } catch {
      require(false, "remove fails where nothing is left to be removed")
    }
  }

  private mutating func checkOpen() throws {
    let path = try put(written("being read", as: "open"))
    let replaced = try store.open(path)
    let again = try put(written("in its place", as: "open"))
    require(
      try replaced.readToEnd() == Array("being read".utf8),
      "what is replaced while it is open changes under its reader")
    let removed = try store.open(again)
    try store.remove(again)
    require(
      try removed.readToEnd() == Array("in its place".utf8),
      "what is removed while it is open can't be read to the end")
  }

  private mutating func checkReopening() throws {
    let paths = try store.put([try file("a file", as: "late1"), written("bytes", as: "late2")])
    let later = try harness.reopen()
    require(
      try text(at: paths[0], of: later) == "a file" && text(at: paths[1], of: later) == "bytes",
      "a later process does not find what was stored")
    try later.remove(paths[0])
    require(try store.size(of: paths[0]) == nil, "what a later process removed is still there")
  }
}
