import Containers

/// When a picture or film was taken, by the camera's clock.
struct CaptureTime {
  /// RFC 3339; without an offset if the zone is unknown, and a date alone if the time is.
  let text: String
  /// The source: `exif:DateTimeOriginal`, `xmp:photoshop:DateCreated`, `png:tIME`, `name`.
  let source: String

  /// Uses the first source with date and time, or otherwise the first with a date.
  ///
  /// `docs/metadata.md` specifies the order: cameras' fields before programs', and “taken” before
  /// “created”.
  ///
  /// - Parameters:
  ///   - container: what a decoder found in a film's or sound's container.
  ///   - name: the date in the file's name, if that is configured.
  init?(
    _ embedded: EmbeddedMetadata, _ exif: ExifBlock?, container: String? = nil,
    name: String? = nil
  ) {
    var dated: (text: String, source: String)?
    for candidate in Self.candidates(embedded, exif, container, name) {
      guard
        let moment = WrittenMoment(
          candidate.text, fraction: candidate.fraction, offset: candidate.offset)
      else { continue }
      guard !moment.hasTime else {
        (text, source) = (moment.text, candidate.source)
        return
      }
      dated = dated ?? (moment.text, candidate.source)
    }
    guard let dated else { return nil }
    (text, source) = dated
  }

  private struct Candidate {
    var source: String
    var text: String
    var fraction: String?
    var offset: String?
  }

  private static func candidates(
    _ embedded: EmbeddedMetadata, _ exif: ExifBlock?, _ container: String?, _ name: String?
  ) -> [Candidate] {
    var all: [Candidate] = []
    func add(_ source: String, _ moment: ExifBlock.Moment?) {
      guard let moment else { return }
      all.append(
        Candidate(
          source: source, text: moment.text, fraction: moment.fraction, offset: moment.offset))
    }
    add("exif:DateTimeOriginal", exif?.original)
    add("exif:DateTimeDigitized", exif?.digitized)
    let xmp = embedded.xmp.map { XMPPacket($0).properties } ?? [:]
    for property in [
      "exif:DateTimeOriginal", "photoshop:DateCreated", "exif:DateTimeDigitized", "xmp:CreateDate",
    ] {
      if let text = xmp[property] { all.append(Candidate(source: "xmp:\(property)", text: text)) }
    }
    let iptc = embedded.iptc.map { IPTCDates($0) }
    if let text = iptc?.created { all.append(Candidate(source: "iptc:DateCreated", text: text)) }
    if let text = iptc?.digitized {
      all.append(Candidate(source: "iptc:DigitizationDate", text: text))
    }
    all += embedded.moments.map { Candidate(source: $0.name, text: $0.text) }
    if let container { all.append(Candidate(source: "container", text: container)) }
    if let text = exif?.satellites { all.append(Candidate(source: "gps:GPSDateStamp", text: text)) }
    if let name { all.append(Candidate(source: "name", text: name)) }
    return all
  }
}

/// A file name pattern that contains a date, such as `IMG_{yyyy}{MM}{dd}_{HH}{mm}{ss}*`.
struct NamePattern: Hashable, Sendable {
  private enum Part: Hashable {
    /// A field of the date and its number of digits.
    case field(String, Int)
    case character(Character)
    case any
    case run
  }

  private static let fields = ["yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2]
  /// The valid range of a field, so that other digits in a name are not mistaken for it.
  private static func range(of field: String) -> ClosedRange<Int> {
    switch field {
    case "MM": 1...12
    case "dd": 1...31
    case "HH": 0...23
    case "mm": 0...59
    case "ss": 0...60
    default: 0...9999
    }
  }
  /// The fields required for a date.
  private static let date: Set = ["yyyy", "MM", "dd"]

  private let parts: [Part]

  /// Parses a pattern; returns `nil` if year, month or day is missing or a field is unknown or
  /// repeated.
  init?(_ text: String) {
    var parts: [Part] = []
    var seen: [String] = []
    var rest = text[...]
    while let first = rest.first {
      rest = rest.dropFirst()
      switch first {
      case "{":
        guard let end = rest.firstIndex(of: "}"), let digits = Self.fields[String(rest[..<end])]
        else { return nil }
        seen.append(String(rest[..<end]))
        parts.append(.field(seen[seen.count - 1], digits))
        rest = rest[rest.index(after: end)...]
      case "*": if parts.last != .run { parts.append(.run) }
      case "?": parts.append(.any)
      default: parts.append(.character(Character(first.lowercased())))
      }
    }
    guard text.count <= 255, Set(seen).count == seen.count, Self.date.isSubset(of: seen),
      !seen.contains("mm") || seen.contains("HH"), !seen.contains("ss") || seen.contains("mm")
    else { return nil }
    self.parts = parts
  }

  /// Returns the date in a name that matches as a whole, as ISO 8601, or `nil`.
  ///
  /// Ignores case.
  func date(in name: String) -> String? {
    var found: [String: String] = [:]
    let name = Array(name.lowercased().prefix(255))
    var tries = 10_000
    guard matches(0, name[...], &found, &tries), let year = found["yyyy"], let month = found["MM"],
      let day = found["dd"]
    else { return nil }
    let clock = [found["HH"], found["mm"] ?? "00", found["ss"] ?? "00"].compactMap { $0 }
    return "\(year)-\(month)-\(day)" + (clock.count == 3 ? "T" + clock.joined(separator: ":") : "")
  }

  private func matches(
    _ part: Int, _ rest: ArraySlice<Character>, _ found: inout [String: String], _ tries: inout Int
  ) -> Bool {
    tries -= 1
    guard tries > 0 else { return false }
    guard part < parts.count else { return rest.isEmpty }
    switch parts[part] {
    case .character(let wanted):
      return rest.first == wanted && matches(part + 1, rest.dropFirst(), &found, &tries)
    case .any:
      return !rest.isEmpty && matches(part + 1, rest.dropFirst(), &found, &tries)
    case .field(let name, let digits):
      let text = rest.prefix(digits)
      guard text.count == digits, text.allSatisfy({ $0.isASCII && $0.isNumber }) else {
        return false
      }
      guard let value = Int(String(text)), Self.range(of: name).contains(value) else {
        return false
      }
      found[name] = String(text)
      return matches(part + 1, rest.dropFirst(digits), &found, &tries)
    case .run:
      return (0...rest.count).contains {
        matches(part + 1, rest.dropFirst($0), &found, &tries)
      }
    }
  }
}
