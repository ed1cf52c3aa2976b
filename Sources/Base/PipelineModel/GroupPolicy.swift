/// What joins files that belong together.
package enum GroupKind: String, CaseIterable, Codable, Hashable, Sendable {
  /// A camera's raw file and its JPEG or HEIC.
  case rawAndJPEG
  /// A picture and the short film that an iPhone made with it.
  case livePhoto
  /// A file and an XMP file that describes it.
  case sidecar
  /// Pictures that a camera took in one burst.
  case burst

  /// How far apart the times of two such files may be, unless a rule says otherwise.
  ///
  /// A Live Photo's film begins up to 1.5 s before its picture. People correct clocks and time zones in
  /// sidecars, by hours, but the next picture with the same number is days away. Times alone join no burst
  /// by default, because two presses of the button a moment apart look the same.
  package var usualDistance: TimeSpan {
    switch self {
    case .rawAndJPEG: TimeSpan(milliseconds: 2_000)
    case .livePhoto: TimeSpan(milliseconds: 3_000)
    case .sidecar: TimeSpan(milliseconds: 86_400_000)
    case .burst: TimeSpan(milliseconds: 0)
    }
  }
}

/// A rule that joins files of one kind.
package struct GroupRule: Hashable, Sendable {
  package var kind: GroupKind
  /// How far apart the files' times may be; by default (`nil`) the kind's usual distance.
  package var within: TimeSpan?

  package init(kind: GroupKind, within: TimeSpan? = nil) {
    self.kind = kind
    self.within = within
  }
}

/// Which files are joined to groups: at most one rule for each kind.
package struct GroupPolicy: Hashable, Sendable {
  /// How far apart the times of two files may be, in microseconds; kinds that are absent join nothing.
  private let distances: [GroupKind: Int64]

  /// All kinds, at their usual distances.
  package static let standard = GroupPolicy(standardRules)
  package static let standardRules = GroupKind.allCases.map { GroupRule(kind: $0) }

  /// - Parameter rules: the last one of a kind counts.
  package init(_ rules: [GroupRule]) {
    var distances: [GroupKind: Int64] = [:]
    for rule in rules {
      let span = rule.within ?? rule.kind.usualDistance
      let (distance, overflow) = Int64(span.milliseconds).multipliedReportingOverflow(by: 1000)
      distances[rule.kind] = overflow ? .max : distance
    }
    self.distances = distances
  }

  /// Microseconds; `nil` if such files are not joined.
  package subscript(kind: GroupKind) -> Int64? { distances[kind] }

  /// The policy as text, the same for equal ones.
  package var text: String {
    GroupKind.allCases.compactMap { kind in
      distances[kind].map { "\(kind.rawValue):\($0)" }
    }.joined(separator: " ")
  }

  /// Parses such a text; what it does not know is left out.
  package init(text: String) {
    distances = text.split(separator: " ").reduce(into: [:]) { distances, part in
      let halves = part.split(separator: ":")
      guard halves.count == 2, let kind = GroupKind(rawValue: String(halves[0])),
        let distance = Int64(halves[1])
      else { return }
      distances[kind] = distance
    }
  }
}
