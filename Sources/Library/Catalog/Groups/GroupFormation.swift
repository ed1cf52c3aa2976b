import PipelineModel
import Records

/// The groups of the files whose names have a stem in common.
///
/// They follow from the files and the policy alone, in whatever order the files came. Two files whose
/// times, cameras or identifiers contradict each other are never in one group; where it is
/// not clear to whom a file belongs, it stays alone. `docs/groups.md` has the rules.
struct GroupFormation {
  /// The most files with one stem that are compared, because each is compared with each.
  static let mostFiles = 100

  /// The assets that are in a group, and sidecars without a picture, by key.
  private(set) var members: [AssetID: GroupMember] = [:]

  private let policy: GroupPolicy

  /// - Parameter isTooMany: whether there are more files with the stem than are compared; the candidates are
  ///   then its sidecars.
  init(of candidates: [GroupCandidate], _ policy: GroupPolicy, isTooMany: Bool = false) {
    self.policy = policy
    // In the order of keys, so that the result does not depend on how they are found.
    let sorted = candidates.sorted { $0.id < $1.id }
    let (sidecars, files) = (
      sorted.filter { $0.part == .sidecar }, sorted.filter { $0.part != .sidecar }
    )
    guard !isTooMany, candidates.count <= Self.mostFiles else {
      orphan(sidecars)
      return
    }
    let shots = shots(among: files)
    var described = shots.map { Shot(files: $0) }
    var orphans: [GroupCandidate] = []
    for sidecar in sidecars {
      if let index = place(of: sidecar, among: shots) {
        described[index].sidecars.append(sidecar)
      } else {
        orphans.append(sidecar)
      }
    }
    for index in described.indices where !isConsistent(sidecars: described[index].sidecars) {
      orphans += described[index].sidecars
      described[index].sidecars = []
    }
    for shot in described where shot.files.count + shot.sidecars.count > 1 { add(shot) }
    orphan(orphans)
  }

  /// What belongs together.
  private struct Shot {
    var files: [GroupCandidate]
    var sidecars: [GroupCandidate] = []
  }

  // MARK: - Pictures and films

  /// The files, divided into those that belong together.
  private func shots(among files: [GroupCandidate]) -> [[GroupCandidate]] {
    Self.components(of: files) { isJoined($0, $1, isSure: false) }.flatMap { shot in
      // A file that fits two others that contradict each other joins neither, unless times or
      // identifiers tell.
      isConsistent(shot)
        ? [shot]
        : Self.components(of: shot) { isJoined($0, $1, isSure: true) }
          .flatMap { isConsistent($0) ? [$0] : $0.map { [$0] } }
    }
  }

  /// Whether two files belong together.
  ///
  /// - Parameter isSure: whether times or identifiers must say so.
  private func isJoined(_ left: GroupCandidate, _ right: GroupCandidate, isSure: Bool) -> Bool {
    guard let kind = Self.kind(left, right), let distance = policy[kind],
      left.isNamed(like: right), !left.isOther(than: right)
    else { return false }
    if kind == .livePhoto, left.hasIdentifier(of: right) { return true }
    // Films of the same number are common, so nothing but times joins them.
    return left.isNear(right, within: distance) ?? (!isSure && kind == .rawAndJPEG)
  }

  /// What could join two files.
  private static func kind(_ left: GroupCandidate, _ right: GroupCandidate) -> GroupKind? {
    switch (left.part, right.part) {
    case (.raw, .still), (.still, .raw): .rawAndJPEG
    case (.movie, .still), (.still, .movie), (.movie, .raw), (.raw, .movie): .livePhoto
    default: nil
    }
  }

  /// Whether no two files contradict each other.
  private func isConsistent(_ files: [GroupCandidate]) -> Bool {
    files.indices.allSatisfy { index in
      files[..<index].allSatisfy { other in
        let file = files[index]
        if file.isOther(than: other) { return false }
        let kind: GroupKind =
          file.part == .movie || other.part == .movie ? .livePhoto : .rawAndJPEG
        if kind == .livePhoto, file.hasIdentifier(of: other) { return true }
        return file.isNear(other, within: policy[kind] ?? kind.microseconds) ?? true
      }
    }
  }

  /// Files that are connected by pairs, in order.
  private static func components(
    of files: [GroupCandidate], by isJoined: (GroupCandidate, GroupCandidate) -> Bool
  ) -> [[GroupCandidate]] {
    var numbers = Array(files.indices)
    for right in files.indices {
      for left in 0..<right where numbers[left] != numbers[right] {
        guard isJoined(files[left], files[right]) else { continue }
        let (kept, former) = (
          min(numbers[left], numbers[right]), max(numbers[left], numbers[right])
        )
        for index in numbers.indices where numbers[index] == former { numbers[index] = kept }
      }
    }
    return files.indices.filter { numbers[$0] == $0 }.map { number in
      files.indices.filter { numbers[$0] == number }.map { files[$0] }
    }
  }

  // MARK: - Sidecars

  /// Which of the shots a sidecar describes; `nil` if none, or if it is not clear which.
  private func place(of sidecar: GroupCandidate, among shots: [[GroupCandidate]]) -> Int? {
    guard let distance = policy[.sidecar] else { return nil }
    let possible = shots.indices.filter { index in
      shots[index].contains { Self.names(sidecar, $0) }
        && shots[index].allSatisfy {
          !$0.isOther(than: sidecar) && $0.isNear(sidecar, within: distance) ?? true
        }
    }
    let namesakes = possible.filter { index in
      shots[index].contains { sidecar.base == $0.name[...] }
    }
    let fitting = namesakes.isEmpty ? possible : namesakes
    if fitting.count <= 1 { return fitting.first }
    // Numbers of cameras begin anew, so files of one name may come again.
    let exact = fitting.filter { index in
      shots[index].contains {
        $0.isNear(sidecar, within: GroupKind.rawAndJPEG.microseconds) == true
      }
    }
    if exact.count == 1 { return exact[0] }
    // Programs that name sidecars without the extension write them for raw files alone.
    let raw = (exact.isEmpty ? fitting : exact).filter { index in
      shots[index].contains { $0.part == .raw && Self.names(sidecar, $0) }
    }
    return raw.count == 1 ? raw[0] : nil
  }

  /// Whether no two sidecars contradict each other.
  private func isConsistent(sidecars: [GroupCandidate]) -> Bool {
    let distance = policy[.sidecar] ?? 0
    return sidecars.indices.allSatisfy { index in
      sidecars[..<index].allSatisfy {
        !$0.isOther(than: sidecars[index])
          && $0.isNear(sidecars[index], within: distance) ?? true
      }
    }
  }

  /// Whether a sidecar has the name of a file, with its extension or without.
  private static func names(_ sidecar: GroupCandidate, _ file: GroupCandidate) -> Bool {
    sidecar.base == file.name[...] || sidecar.base == file.base
  }

  /// The sidecar that counts for a file: one named with the file's extension before one without, and of
  /// these the one that came last.
  private static func sidecar(
    for file: GroupCandidate, among sidecars: [GroupCandidate]
  ) -> AssetID? {
    (sidecars.last { $0.base == file.name[...] } ?? sidecars.last { $0.base == file.base })?.id
  }

  // MARK: - Members

  private mutating func orphan(_ sidecars: [GroupCandidate]) {
    // Whoever wants no sidecars joined does not miss their pictures.
    guard policy[.sidecar] != nil else { return }
    for sidecar in sidecars {
      members[sidecar.id] = GroupMember(leader: sidecar.id, kinds: [], role: .orphan, sidecar: nil)
    }
  }

  private mutating func add(_ shot: Shot) {
    let order: [GroupCandidate.Part] = [.still, .raw, .movie, .other]
    let first = order.lazy.compactMap { part in shot.files.first { $0.part == part } }.first
    guard let primary = first else { return }
    let parts = Set(shot.files.map(\.part))
    var kinds: [GroupKind] = []
    if parts.contains(.raw), parts.contains(.still) { kinds.append(.rawAndJPEG) }
    if parts.contains(.movie), shot.files.count > 1 { kinds.append(.livePhoto) }
    if !shot.sidecars.isEmpty { kinds.append(.sidecar) }
    func add(_ file: GroupCandidate, _ role: GroupMember.Role, _ sidecar: AssetID?) {
      members[file.id] = GroupMember(
        leader: primary.id, kinds: kinds, role: role, sidecar: sidecar)
    }
    for file in shot.files {
      let role: GroupMember.Role =
        switch file.part {
        case _ where file.id == primary.id: .primary
        case .raw: .raw
        case .movie: .movie
        case .still, .sidecar, .other: .picture
        }
      add(file, role, Self.sidecar(for: file, among: shot.sidecars))
    }
    for sidecar in shot.sidecars { add(sidecar, .sidecar, nil) }
  }
}

extension GroupKind {
  /// The usual distance in microseconds.
  fileprivate var microseconds: Int64 { Int64(usualDistance.milliseconds) * 1000 }
}
