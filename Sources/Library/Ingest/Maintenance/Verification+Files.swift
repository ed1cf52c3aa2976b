import Catalog
import Files
import Manifest
import ObjectStorage
import Originals
import PipelineModel
import Records

extension Verification {
  /// The number of missing originals remembered for a second look.
  private static let mostDoubtful = 512
  /// The number of originals without a record that are collected before they are reported.
  private static let mostUnrecorded = 1 << 14

  // MARK: Reading originals

  /// Reads all recorded originals.
  func checkOriginals(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    while case .originals(let last) = pass.place.next {
      let page = try catalog.originals(after: last, limit: Self.pageSize)
      if page.isEmpty { pass.place.next = .renditions(after: 0) }
      for start in stride(from: 0, to: page.count, by: originals.readsAtOnce) {
        if pass.isOver { return }
        let group = Array(page[start..<min(start + originals.readsAtOnce, page.count)])
        let conditions = group.map(width: group.count) { [originals, isStopped = pass.isStopped] in
          let digest = $0.digest
          return Result { () throws(FileError) in
            try originals.verify(digest, isStopped: isStopped)
          }
        }
        for ((digest, size), condition) in zip(group, conditions) {
          try note(problem(with: digest, size, condition.get()), of: digest, size, pass, report)
          advance(pass, to: .originals(after: digest))
        }
      }
    }
  }

  private func note(
    _ problem: VerificationProblem?, of digest: Digest, _ size: Int, _ pass: Pass,
    _ report: (VerificationProblem) -> Void
  ) throws {
    // If the lock can't be tested, it is reported at once.
    if problem?.kind == .originalMissing, (try? isLocked) == true {
      pass.doubtful.append((digest, size))
    } else if let problem {
      report(problem)
    } else {
      pass.damage.forget(digest)
    }
    if pass.doubtful.count > Self.mostDoubtful {
      try recheck(pass.doubtful.prefix(Self.mostDoubtful / 2), pass, report)
      pass.doubtful.removeFirst(Self.mostDoubtful / 2)
    }
  }

  /// Checks again originals that were missing while another process worked on the library.
  func recheckDoubtful(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    try recheck(pass.doubtful[...], pass, report)
    pass.doubtful = []
  }

  private func recheck(
    _ doubtful: ArraySlice<(digest: Digest, size: Int)>, _ pass: Pass,
    _ report: (VerificationProblem) -> Void
  ) throws {
    for (digest, size) in doubtful {
      let condition = try originals.verify(digest, isStopped: pass.isStopped)
      if let problem = try problem(with: digest, size, condition) {
        report(problem)
      } else {
        pass.damage.forget(digest)
      }
    }
  }

  /// The problem of an original in a condition, if any.
  private func problem(
    with digest: Digest, _ size: Int, _ condition: OriginalCondition
  ) throws -> VerificationProblem? {
    let path = originals.path(of: digest)
    var problem = VerificationProblem(
      kind: .originalDamaged, digest: digest, path: path, message: "")
    switch condition {
    case .whole(let actual) where actual == size:
      return nil
    case .missing:
      problem.kind = .originalMissing
      problem.message = "“\(path.printable)” is missing; import its file to restore it."
    case .whole(let actual):
      problem.message =
        "“\(path.printable)” has \(actual) bytes, the catalog says \(size)."
    case .damaged(let actual, _):
      problem.message =
        "“\(path.printable)” hashes to \(actual); import a good copy to heal it."
    case .unreadable(let error) where error.code == .notRegular:
      problem.message =
        "\(error.message) It is in the place of an original; import a good copy to heal it."
    case .unreadable(let error):
      problem.message = error.message
    }
    // It may have been returned, or deleted, since the page was read.
    guard try catalog.hasOriginal(digest) else { return nil }
    problem.assets = try assets(with: digest)
    return problem
  }

  // MARK: Comparing the store

  /// Reports what is in the store without a record, one of its 256 parts at a time.
  func compareOriginals(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    // A place in a bucket becomes the library's with its first original.
    if let store = originals as? BucketStore, try catalog.originals(after: nil, limit: 1).isEmpty,
      try store.bucket.owner() == nil
    {
      return
    }
    var unrecorded: Set<Digest> = []
    for byte in UInt8.min...UInt8.max {
      try pass.begin(.folders(Int(byte)), in: library.layout.originals)
      var others: [StoredEntry] = []
      var found: Set<Digest> = []
      try originals.forEach(beginningWith: byte) { entry throws(FileError) in
        if case .original(let digest, _, _) = entry {
          found.insert(digest)
        } else {
          others.append(entry)
        }
      }
      for entry in others { try tell(of: entry, report) }
      // The store before the catalog, so that what a run records meanwhile has a record.
      if !found.isEmpty { try catalog.originals(beginningWith: byte) { found.remove($0) } }
      unrecorded.formUnion(found)
      if unrecorded.count > Self.mostUnrecorded { try tell(ofUnrecorded: &unrecorded, report) }
    }
    try tell(ofUnrecorded: &unrecorded, report)
    var others: [StoredEntry] = []
    try originals.forEachForeign { entry throws(FileError) in others.append(entry) }
    for entry in others { try tell(of: entry, report) }
  }

  private func tell(of entry: StoredEntry, _ report: (VerificationProblem) -> Void) throws {
    switch entry {
    case .original:
      return
    case .foreign(let path):
      // What is in the place of a recorded original was found when that was read.
      if let digest = OriginalLayout.digest(
        folder: path.parent.lastComponent, name: path.lastComponent),
        try catalog.hasOriginal(digest)
      {
        return
      }
      report(
        .init(kind: .foreignFile, path: path, message: "“\(path.printable)” is not an original."))
    case .unreadable(let error):
      report(.init(kind: .unreadable, path: error.path, message: error.message))
    }
  }

  private func tell(
    ofUnrecorded digests: inout Set<Digest>, _ report: (VerificationProblem) -> Void
  ) throws {
    defer { digests = [] }
    // A concurrent run may have stored them since, and record them in a moment.
    guard !digests.isEmpty, try !isLocked else { return }
    for digest in digests.sorted(by: { $0.hex < $1.hex }) {
      // A permanently deleted original awaits `gc`, or has been removed by it since.
      guard try !catalog.isDeleted(digest), try catalog.assets(with: digest).isEmpty,
        isPresent(digest)
      else { continue }
      let path = originals.path(of: digest)
      report(
        .init(
          kind: .originalUnrecorded, digest: digest, path: path,
          message:
            "No record refers to “\(path.printable)”; `pipeline verify --repair` records it, "
            + "with its digest as its name."))
    }
  }

  private func isPresent(_ digest: Digest) -> Bool {
    do throws(FileError) {
      return try originals.size(of: digest) != nil
    } catch {
      // One that can't be examined is there all the same.
      return true
    }
  }

  // MARK: Renditions

  private static let readsAtOnce = 8

  /// Reads all recorded renditions.
  func checkRenditions(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    let reader = try RenditionReader(of: library, catalog)
    while case .renditions(let last) = pass.place.next {
      let page = try catalog.renditions(after: last, limit: Self.pageSize)
      if page.isEmpty { pass.place.next = .end }
      for start in stride(from: 0, to: page.count, by: Self.readsAtOnce) {
        if pass.isOver { return }
        let group = Array(page[start..<min(start + Self.readsAtOnce, page.count)])
        // Those of a database are in memory as a whole, and those of a disk come one after the other anyway.
        let width = group.allSatisfy(\.isInBucket) ? group.count : 1
        let conditions = group.map(width: width) { [isStopped = pass.isStopped] rendition in
          Result { try reader.condition(of: rendition, isStopped: isStopped) }
        }
        for (rendition, condition) in zip(group, conditions) {
          if try condition.get() == .whole { pass.damage.forget(rendition.id) }
          try tell(of: rendition, condition.get(), report)
          advance(pass, to: .renditions(after: rendition.id))
        }
      }
    }
  }

  private func tell(
    of rendition: RenditionRecord, _ condition: RenditionReader.Condition,
    _ report: (VerificationProblem) -> Void
  ) throws {
    let path = rendition.path.map { library.layout.place(ofRendition: $0) }
    let name = path?.printable ?? "\(rendition.stage)/\(rendition.name) in the database"
    let remedy = "`pipeline verify --repair` makes it again."
    var problem = VerificationProblem(
      kind: .renditionDamaged, digest: rendition.digest, path: path, message: "",
      rendition: rendition.id)
    switch condition {
    case .whole:
      return
    case .missing:
      problem.kind = .renditionMissing
      problem.message = "“\(name)” is missing; \(remedy)"
    case .damaged:
      problem.message = "“\(name)” differs from what was made; \(remedy)"
    case .unreadable(let error):
      problem.message = "\(error.message) It should be a rendition; \(remedy)"
    }
    // It may have been replaced, or moved, since the page was read.
    guard try catalog.rendition(rendition.id) == rendition else { return }
    problem.assets = try catalog.assets(withRendition: rendition.id)
    report(problem)
  }
}
