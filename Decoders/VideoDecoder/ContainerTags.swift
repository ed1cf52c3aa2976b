import CLibAV
import PipelineModel

/// What a container says about a film or piece of music in words.
struct ContainerTags {
  private let dictionaries: [OpaquePointer?]

  /// The tags of a container, and of its streams where it has none: Ogg keeps them there.
  init(_ input: MediaInput) {
    dictionaries =
      [input.container?.pointee.metadata] + input.streams.prefix(8).map { $0.pointee.metadata }
  }

  /// Facts by the names that they are known by; those absent or malformed are left out.
  var facts: [String: JSONValue] {
    var facts: [String: JSONValue] = [:]
    if let time = creationTime { facts["creationTime"] = .string(time) }
    if let place = location { facts["location"] = place }
    let names = [
      "make": ["com.apple.quicktime.make", "make", "com.android.manufacturer"],
      "model": ["com.apple.quicktime.model", "model", "com.android.model"],
      "title": ["title"], "artist": ["artist"], "album": ["album"],
    ]
    for (fact, keys) in names {
      // A stream's title is that of the stream.
      let places =
        fact == "title" && streamsAreTitled ? Array(dictionaries.prefix(1)) : dictionaries
      if let text = first(keys, in: places) { facts[fact] = .string(text) }
    }
    return facts
  }

  /// Whether the container's own tags are there, so that those of streams are about streams.
  private var streamsAreTitled: Bool {
    dictionaries.first.map { av_dict_count($0) > 0 } ?? false
  }

  private func first(_ keys: [String], in places: [OpaquePointer?]) -> String? {
    for key in keys {
      for place in places { if let text = Self.text(key, in: place) { return text } }
    }
    return nil
  }

  /// A tag's text; `nil` if it is empty.
  static func text(_ key: String, in dictionary: OpaquePointer?) -> String? {
    guard let entry = av_dict_get(dictionary, key, nil, 0), let value = entry.pointee.value else {
      return nil
    }
    let text = cut(String(cString: value))
    return text.allSatisfy(\.isWhitespace) ? nil : text
  }

  /// A text without control characters, at most 1,000 bytes of UTF-8.
  static func cut(_ text: String) -> String {
    // Not 1,000 characters: one with its marks can have any length.
    var left = 1000
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars where scalar.properties.generalCategory != .control {
      left -= UTF8.width(scalar)
      guard left >= 0 else { break }
      scalars.append(scalar)
    }
    return String(scalars)
  }

  /// Date and time in ISO 8601: the camera's with its zone if it wrote them, else the container's
  /// in UTC.
  private var creationTime: String? {
    let keys = ["com.apple.quicktime.creationdate", "creation_time"]
    for key in keys {
      if let text = first([key], in: dictionaries), let time = Self.time(text) { return time }
    }
    return nil
  }

  /// A date and time with zeros of a second's fraction removed; `nil` if it is none.
  static func time(_ text: String) -> String? {
    guard
      let match = text.wholeMatch(
        of: /([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9:]{8})(\.[0-9]{1,9})?(Z|[+-][0-9:]{4,5})?/)
    else { return nil }
    let parts = match.output
    guard let year = Int(parts.1), let month = Int(parts.2), let day = Int(parts.3),
      (1...12).contains(month), (1...days(ofMonth: month, year)).contains(day),
      // 60 is a leap second.
      let clock = parts.4.wholeMatch(of: /([0-9]{2}):([0-9]{2}):([0-9]{2})/)?.output,
      let hour = Int(clock.1), let minute = Int(clock.2), let second = Int(clock.3),
      hour < 24, minute < 60, second <= 60, let zone = zone(parts.6 ?? "")
    else { return nil }
    var fraction = parts.5.map(String.init) ?? ""
    while fraction.hasSuffix("0") || fraction.hasSuffix(".") { fraction.removeLast() }
    return "\(parts.1)-\(parts.2)-\(parts.3)T\(parts.4)\(fraction)\(zone)"
  }

  private static func days(ofMonth month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// A zone with its colon; `nil` if there is no such zone on Earth.
  private static func zone(_ text: Substring) -> String? {
    if text.isEmpty || text == "Z" { return String(text) }
    guard let parts = text.wholeMatch(of: /([+-])([0-9]{2}):?([0-9]{2})/)?.output,
      let hours = Int(parts.2), let minutes = Int(parts.3), hours <= 14, minutes < 60
    else { return nil }
    return "\(parts.1)\(parts.2):\(parts.3)"
  }

  private var location: JSONValue? {
    let keys = ["com.apple.quicktime.location.ISO6709", "location", "location-eng"]
    return first(keys, in: dictionaries).flatMap(Self.place)
  }

  /// A point as ISO 6709 writes it, such as `+51.4169-000.0806+012.5/`, in degrees and metres.
  static func place(_ text: String) -> JSONValue? {
    let point =
      #/
      ([+-])([0-9]{2,6})(\.[0-9]+)?([+-])([0-9]{3,7})(\.[0-9]+)?
      ([+-][0-9]+(?:\.[0-9]+)?)?(?:CRS\S*)?/?
      /#
    guard let match = text.wholeMatch(of: point),
      let latitude = degrees(match.output.2, match.output.3, whole: 2, match.output.1 == "-"),
      let longitude = degrees(match.output.5, match.output.6, whole: 3, match.output.4 == "-"),
      abs(latitude) <= 90, abs(longitude) <= 180
    else { return nil }
    var place: [String: JSONValue] = [
      "latitude": .number(latitude), "longitude": .number(longitude),
    ]
    if let altitude = match.output.7.flatMap({ Double($0) }), abs(altitude) < 100_000 {
      place["altitude"] = .number(altitude)
    }
    return .object(place)
  }

  /// Degrees from digits, which may go on with two for minutes and two for seconds.
  private static func degrees(
    _ digits: Substring, _ fraction: Substring?, whole: Int, _ isNegative: Bool
  ) -> Double? {
    let rest = digits.dropFirst(whole)
    guard digits.count >= whole, rest.count % 2 == 0,
      let first = Double(String(digits.prefix(whole)))
    else { return nil }
    let last = fraction.map(String.init) ?? ""
    var value = first
    if rest.isEmpty {
      value = Double(String(digits) + last) ?? first
    } else if rest.count == 2 {
      value += (Double(String(rest) + last) ?? 0) / 60
    } else {
      value += (Double(String(rest.prefix(2))) ?? 0) / 60
      value += (Double(String(rest.dropFirst(2)) + last) ?? 0) / 3600
    }
    // Seven places are a centimetre.
    value = (value * 1e7).rounded() / 1e7
    return isNegative ? -value : value
  }
}
