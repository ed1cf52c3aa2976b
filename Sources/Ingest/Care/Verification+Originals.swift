import Catalog
import Files
import Manifest
import Originals
import PipelineModel

extension Verification {
  /// How many originals are remembered to be looked at once more.
  private static let mostDoubtful = 512
  /// How many originals without a record are looked for in the manifest at once.
  private static let mostUnrecorded = 1 << 14

  // MARK: Reading

  /// Reads all originals that are on record.
  func checkOriginals(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    while case .originals(let last) = pass.place.next {
      let page = try catalog.originals(after: last, limit: Self.pageSize)
      if page.isEmpty { pass.place.next = .renditions(after: 0) }
      for (digest, size) in page {
        if pass.isOver { return }
        let problem = try problem(with: digest, size, pass.isStopped)
        pass.damage.forget(digest)
        // Where nobody can say whether a process is at work, it is told at once.
        if problem?.kind == .originalMissing, (try? isLocked) == true {
          pass.doubtful.append((digest, size))
        } else if let problem {
          report(problem)
        }
        if pass.doubtful.count > Self.mostDoubtful {
          try settle(pass.doubtful.prefix(Self.mostDoubtful / 2), pass, report)
          pass.doubtful.removeFirst(Self.mostDoubtful / 2)
        }
        advance(pass, to: .originals(after: digest))
      }
    }
  }

  /// Looks once more at originals that were not there while somebody worked on the library.
  func settleDoubtful(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    try settle(pass.doubtful[...], pass, report)
    pass.doubtful = []
  }

  private func settle(
    _ doubtful: ArraySlice<(digest: Digest, size: Int)>, _ pass: Pass,
    _ report: (VerificationProblem) -> Void
  ) throws {
    for (digest, size) in doubtful {
      if let problem = try problem(with: digest, size, pass.isStopped) { report(problem) }
    }
  }

  /// What reading an original shows to be wrong with it.
  private func problem(
    with digest: Digest, _ size: Int, _ isStopped: @escaping () -> Bool
  ) throws -> VerificationProblem? {
    let path = library.layout.originals.appending(OriginalLayout.path(of: digest))
    var problem = VerificationProblem(
      kind: .originalDamaged, digest: digest, path: path, message: "")
    switch try originals.verify(digest, isStopped: isStopped) {
    case .whole(let actual) where actual == size:
      return nil
    case .missing:
      problem.kind = .originalMissing
      problem.message = "“\(path.printable)” is missing; an import of its file puts it back."
    case .whole(let actual):
      problem.message =
        "“\(path.printable)” has \(actual) bytes, the catalog says \(size)."
    case .damaged(let actual, _):
      problem.message =
        "“\(path.printable)” hashes to \(actual); an import of a good copy heals it."
    case .unreadable(let error) where error.code == .notRegular:
      problem.message =
        "\(error.message) It has the place of an original; an import of a good copy heals it."
    case .unreadable(let error):
      problem.message = error.message
    }
    // It may have been given back, or deleted, since the page was read.
    guard try catalog.hasOriginal(digest) else { return nil }
    problem.assets = try assets(with: digest)
    return problem
  }

  // MARK: Comparing

  /// Reports what is in the store and not on record, one of its 256 parts after the other.
  func compareOriginals(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    var unrecorded: Set<Digest> = []
    for byte in UInt8.min...UInt8.max {
      try pass.begin(.folders(Int(byte)), in: library.layout.originals)
      var others: [StoredEntry] = []
      var found: Set<Digest> = []
      try originals.forEach(beginningWith: byte) { entry throws(FileError) in
        if case .original(let digest, _) = entry {
          found.insert(digest)
        } else {
          others.append(entry)
        }
      }
      for entry in others { try tell(of: entry, report) }
      // The store before the catalog, so that what a run records meanwhile is on record.
      if !found.isEmpty { try catalog.originals(beginningWith: byte) { found.remove($0) } }
      unrecorded.formUnion(found)
      if unrecorded.count > Self.mostUnrecorded { try tell(ofUnrecorded: &unrecorded, report) }
    }
    try tell(ofUnrecorded: &unrecorded, report)
    var others: [StoredEntry] = []
    try originals.forEachForeign { entry throws(FileError) in others.append(entry) }
    for entry in others { try tell(of: entry, report) }
  }

  private func tell(
    of entry: StoredEntry, _ report: (VerificationProblem) -> Void
  ) throws {
    switch entry {
    case .original:
      return
    case .foreign(let path):
      // What has the place of an original on record was found when that was read.
      if let digest = OriginalLayout.digest(
        folder: path.parent.lastComponent, name: path.lastComponent),
        try catalog.hasOriginal(digest)
      {
        return
      }
      report(
        .init(
          kind: .foreignFile, digest: nil, path: path,
          message: "“\(path.printable)” is no original."))
    case .unreadable(let error):
      report(.init(kind: .unreadable, digest: nil, path: error.path, message: error.message))
    }
  }

  private func tell(
    ofUnrecorded digests: inout Set<Digest>, _ report: (VerificationProblem) -> Void
  ) throws {
    defer { digests = [] }
    // A run beside this may have stored them since, and record them in a moment.
    guard !digests.isEmpty, try !isLocked else { return }
    for digest in digests.sorted(by: { $0.hex < $1.hex }) {
      // What was deleted for good waits for `gc`.
      guard try !catalog.isDeleted(digest), try catalog.assets(with: digest).isEmpty else {
        continue
      }
      let path = library.layout.originals.appending(OriginalLayout.path(of: digest))
      report(
        .init(
          kind: .originalUnrecorded, digest: digest, path: path,
          message:
            "No record refers to “\(path.printable)”; `pipeline verify --repair` records it, "
            + "with its digest as its name."))
    }
  }
}
