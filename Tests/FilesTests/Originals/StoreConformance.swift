import Files
import Fixtures
import Glibc
import Hashing
import Originals
import PipelineModel

/// What every store of originals has to do, as checks that say what one does not.
struct StoreConformance {
  /// A store and a way behind it, for what can't be brought about through it.
  protocol Harness {
    var store: any OriginalStore { get }
    /// A folder on the store's file system for files on their way in.
    var incoming: Descriptor { get }
    /// What can have the place of an original there.
    var obstacles: [Obstacle] { get }
    /// Whether originals can be made unreadable.
    var blocks: Bool { get }
    /// Replaces the bytes that the store keeps under a digest.
    func overwrite(_ digest: Digest, with bytes: [UInt8]) throws
    /// Puts something else into the place of an original; what was there goes.
    func obstruct(_ digest: Digest, with obstacle: Obstacle) throws
    /// Makes all originals unreadable whose digests begin with the same byte as one.
    func block(_ digest: Digest) throws
    /// Ends that.
    func unblock(_ digest: Digest) throws
    /// Puts a file into the store that is no original.
    func addForeign() throws -> BytePath
    /// The bytes that were kept apart.
    func keptApart() throws -> [[UInt8]]
    /// How many things other than files were kept apart.
    func obstaclesKeptApart() throws -> Int
  }

  /// What can have the place of an original and is no file.
  enum Obstacle: CaseIterable { case link, folder, pipe }

  private let harness: any Harness
  private var faults: [String] = []

  /// Runs all checks.
  ///
  /// - Returns: a sentence for each that fails.
  static func faults(of harness: any Harness) throws -> [String] {
    var conformance = StoreConformance(harness: harness)
    let checks: [(inout StoreConformance) throws -> Void] = [
      { try $0.checkPut() }, { try $0.checkPresent() }, { try $0.checkVerify() },
      { try $0.checkHeal() }, { try $0.checkSetAside() }, { try $0.checkRelease() },
      { try $0.checkRemove() }, { try $0.checkForEach() }, { try $0.checkObstacles() },
      { try $0.checkBlocked() }, { try $0.checkOwnFile() },
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

  private var store: any OriginalStore { harness.store }

  private mutating func require(_ condition: Bool, _ sentence: String) {
    if !condition { faults.append(sentence) }
  }

  private func incoming(_ name: BytePath, _ text: String) throws -> IncomingOriginal {
    let bytes = Array(text.utf8)
    try harness.incoming.writeDurably(bytes, as: name, mode: 0o444)
    return IncomingOriginal(
      folder: harness.incoming, name: name, digest: SHA256.digest(of: bytes))
  }

  private func bytes(of digest: Digest) throws -> [UInt8] {
    try store.open(digest).readToEnd()
  }

  private func isThere(_ name: BytePath) throws -> Bool {
    try harness.incoming.entries().contains { $0.name == name }
  }

  /// Removes a file that was stored, if it is the caller's to remove.
  private mutating func clear(_ name: BytePath, _ call: String) throws {
    guard store.leavesFiles else { return }
    require(try isThere(name), "\(call) takes a file away that it should leave")
    try harness.incoming.removeIfThere(name)
  }

  private mutating func checkPut() throws {
    let files = try (0..<20).map { try incoming(BytePath("put\($0)"), "content \($0)") }
    let outcomes = try store.put(files)
    require(outcomes.allSatisfy { $0 == .stored }, "put does not say that new files are stored")
    for (number, file) in files.enumerated() {
      try clear(file.name, "put")
      require(
        try bytes(of: file.digest) == Array("content \(number)".utf8),
        "what put stored can't be read with the same bytes")
      require(try !isThere(file.name), "put leaves a stored file where it was")
      let original = try store.lease(file.digest)
      let status = try FileSystem.status(of: original.path)
      require(status.permissions & 0o222 == 0, "an original can be written to")
    }
    require(try store.put([]).isEmpty, "put of nothing says something")
  }

  private mutating func checkPresent() throws {
    let first = try incoming("present1", "the same")
    let second = try incoming("present2", "the same")
    let outcomes = try store.put([first, second])
    require(outcomes == [.stored, .present], "put does not notice equal files in one group")
    try clear("present1", "put")
    require(try !isThere("present1"), "put leaves a stored file where it was")
    require(try isThere("present2"), "put removes a file that was present")
    let third = try incoming("present3", "the same")
    require(try store.put([third]) == [.present], "put does not notice what was stored before")
    require(try isThere("present3"), "put removes a file that was present")
    require(try bytes(of: first.digest) == Array("the same".utf8), "present bytes were changed")
  }

  private mutating func checkVerify() throws {
    let file = try incoming("verify", "to be verified")
    require(try store.verify(file.digest) == .missing, "verify finds what is not there")
    require(try store.size(of: file.digest) == nil, "what is not there has a size")
    var code: FileError.Code?
    do throws(FileError) { _ = try store.lease(file.digest) } catch { code = error.code }
    require(code == .notFound, "lease does not say that an original is missing")
    _ = try store.put(file)
    require(
      try store.verify(file.digest) == .whole(size: 14), "verify does not find a whole original")
    require(try store.size(of: file.digest) == 14, "size is not that of the bytes")
    let damage = Array("to be verifieD".utf8)
    try harness.overwrite(file.digest, with: damage)
    let condition = try store.verify(file.digest)
    require(
      condition == .damaged(actual: SHA256.digest(of: damage), size: 14),
      "verify does not see one changed bit")
    let again = try incoming("verify2", "to be verified")
    require(try store.put([again]) == [.present], "put replaces a damaged original unasked")
  }

  private mutating func checkHeal() throws {
    for round in 1...2 {
      let file = try incoming("heal", "to be healed")
      _ = try store.put(file)
      try harness.overwrite(file.digest, with: Array("damage \(round)".utf8))
      try store.heal(try incoming("healthy", "to be healed"))
      try clear("healthy", "heal")
      require(try store.verify(file.digest) == .whole(size: 12), "heal leaves damage")
      require(try !isThere("healthy"), "heal leaves the file where it was")
      require(
        try harness.keptApart().contains(Array("damage \(round)".utf8)),
        "heal does not keep the damaged bytes")
    }
    require(
      try harness.keptApart().contains(Array("damage 1".utf8)),
      "heal overwrites what an earlier one kept")
    let missing = try incoming("missing", "never stored")
    try store.heal(missing)
    require(
      try store.verify(missing.digest) == .whole(size: 12), "heal does not store a missing original"
    )
  }

  private mutating func checkSetAside() throws {
    for round in 1...2 {
      let file = try incoming("aside", "to be set aside")
      _ = try store.put(file)
      try harness.overwrite(file.digest, with: Array("spoiled \(round)".utf8))
      require(try store.setAside(file.digest), "setAside does not say what it did")
      require(try store.verify(file.digest) == .missing, "setAside leaves the original")
    }
    let kept = try harness.keptApart()
    require(
      kept.contains(Array("spoiled 1".utf8)) && kept.contains(Array("spoiled 2".utf8)),
      "setAside does not keep the damaged bytes")
    do throws(FileError) {
      require(
        try !store.setAside(SHA256.digest(of: Array("never there".utf8))),
        "setAside says that it set nothing aside")
    } catch {
      require(false, "setAside fails where there is nothing")
    }
  }

  private mutating func checkRelease() throws {
    guard store.releases else { return try checkNoRelease() }
    let file = try incoming("release", "to be released")
    _ = try store.put(file)
    try harness.incoming.writeDurably([1], as: "taken")
    var code: FileError.Code?
    do throws(FileError) {
      try store.release(file.digest, to: harness.incoming, as: "taken")
    } catch {
      code = error.code
    }
    require(code == .exists, "release does not say that a name is taken")
    require(
      try isThere("taken") && harness.incoming.readFile("taken") == [1],
      "release replaces a file")
    guard case .whole = try store.verify(file.digest) else {
      return require(false, "release takes an original away without a place for it")
    }
    try store.release(file.digest, to: harness.incoming, as: "released")
    require(try isThere("released"), "release does not bring the file to its place")
    require(try store.verify(file.digest) == .missing, "release leaves the original")
  }

  private mutating func checkNoRelease() throws {
    let file = try incoming("release", "to be released")
    _ = try store.put(file)
    var code: FileError.Code?
    do throws(FileError) {
      try store.release(file.digest, to: harness.incoming, as: "released")
    } catch {
      code = error.code
    }
    require(code == .crossDevice, "release does not say that it needs a copy")
    require(try store.size(of: file.digest) == 14, "release takes an original that it can't give")
  }

  private mutating func checkRemove() throws {
    let file = try incoming("remove", "to be removed")
    _ = try store.put(file)
    try store.remove(file.digest)
    require(try store.verify(file.digest) == .missing, "remove leaves the original")
    do throws(FileError) {
      try store.remove(file.digest)
    } catch {
      require(false, "remove fails where nothing is left to be removed")
    }
    let other = SHA256.digest(of: Array("content 1".utf8))
    require(try store.verify(other) == .whole(size: 9), "remove takes another original with it")
  }

  private mutating func checkForEach() throws {
    let foreign = try harness.addForeign()
    var seen: [Digest: Int] = [:]
    var others: [BytePath] = []
    var sizes: [Digest: Int] = [:]
    try store.forEach { entry throws(FileError) in
      switch entry {
      case .original(let digest, let size, _):
        seen[digest, default: 0] += 1
        sizes[digest] = size
      case .foreign(let path): others.append(path)
      case .unreadable(let error): others.append(error.path ?? "")
      }
    }
    let expected = Set((0..<20).map { SHA256.digest(of: Array("content \($0)".utf8)) })
    require(expected.isSubset(of: seen.keys), "forEach leaves originals out")
    require(seen.values.allSatisfy { $0 == 1 }, "forEach gives an original twice")
    let removed = SHA256.digest(of: Array("to be removed".utf8))
    require(seen[removed] == nil, "forEach gives what was removed")
    require(sizes[SHA256.digest(of: Array("content 1".utf8))] == 9, "forEach gives a wrong size")
    require(others == [foreign], "forEach does not tell what is no original")
  }

  private mutating func checkObstacles() throws {
    for (number, obstacle) in harness.obstacles.enumerated() {
      let file = try incoming("first", "behind \(obstacle)")
      _ = try store.put(file)
      try harness.obstruct(file.digest, with: obstacle)
      require(
        try isUnreadable(file.digest), "verify does not say that a \(obstacle) is no original")
      require(!hasSize(file.digest), "size takes a \(obstacle) for an original or for nothing")
      require(
        try originals().contains(SHA256.digest(of: Array("content 1".utf8))),
        "forEach does not go on behind a \(obstacle)")
      let again = try incoming("again", "behind \(obstacle)")
      require(try store.put([again]) == [.present], "put replaces a \(obstacle)")
      try store.heal(again)
      require(
        try store.verify(file.digest) == .whole(size: "behind \(obstacle)".utf8.count),
        "heal leaves a \(obstacle) in the place of an original")
      require(
        try harness.obstaclesKeptApart() == 2 * number + 1, "heal does not keep a \(obstacle)")
      try harness.obstruct(file.digest, with: obstacle)
      try store.setAside(file.digest)
      require(try store.verify(file.digest) == .missing, "setAside leaves a \(obstacle)")
      require(
        try harness.obstaclesKeptApart() == 2 * number + 2, "setAside does not keep a \(obstacle)")
    }
  }

  private mutating func checkOwnFile() throws {
    let file = try incoming("own", "a file of its own")
    let stranger = try harness.incoming.status(of: file.name)
    _ = try store.put([try incoming("other", "a file of its own")])
    require(
      try !store.isOriginal(stranger, file.digest), "isOriginal takes any file for the original")
    if let own = try store.ownFile(of: file.digest) {
      require(
        try own.readToEnd() == Array("a file of its own".utf8), "ownFile opens another file")
      require(
        try store.isOriginal(own.status(), file.digest), "isOriginal does not know the original")
    }
    let local = try store.lease(file.digest)
    let status = try FileSystem.status(of: local.path)
    require(try store.isOriginal(status, file.digest), "isOriginal does not know what lease gives")
    var code: FileError.Code?
    do throws(FileError) {
      _ = try store.ownFile(of: SHA256.digest(of: Array("never there".utf8)))
    } catch {
      code = error.code
    }
    require(code == .notFound, "ownFile does not say that an original is missing")
  }

  private mutating func checkBlocked() throws {
    guard harness.blocks else { return }
    let file = try incoming("blocked", "to be blocked")
    _ = try store.put(file)
    let before = try originals()
    try harness.block(file.digest)
    require(try isUnreadable(file.digest), "verify takes what can't be looked at for missing")
    let readable = before.filter { $0.bytes.first != file.digest.bytes.first }
    require(try originals() == readable, "forEach does not go on where it can't look")
    var isTold = false
    try store.forEach { entry throws(FileError) in
      if case .unreadable = entry { isTold = true }
    }
    require(isTold, "forEach does not tell what it can't look at")
    var isSetAside = true
    do throws(FileError) { try store.setAside(file.digest) } catch { isSetAside = false }
    require(!isSetAside, "setAside says that it has moved what it can't reach")
    try harness.unblock(file.digest)
    require(try originals() == before, "what could not be looked at was changed")
  }

  private func isUnreadable(_ digest: Digest) throws -> Bool {
    if case .unreadable = try store.verify(digest) { true } else { false }
  }

  /// Whether `size` says how large an original is, or that there is none.
  private func hasSize(_ digest: Digest) -> Bool {
    do throws(FileError) { _ = try store.size(of: digest) } catch {
      return error.code != .notRegular
    }
    return true
  }

  private func originals() throws -> Set<Digest> {
    var found: Set<Digest> = []
    try store.forEach { entry throws(FileError) in
      if case .original(let digest, _, _) = entry { found.insert(digest) }
    }
    return found
  }
}

extension OriginalStore {
  func verify(_ digest: Digest) throws(FileError) -> OriginalCondition {
    try verify(digest) { false }
  }
}
