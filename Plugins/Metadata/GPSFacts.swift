import Containers
import PipelineModel

/// The place where a picture was taken, and EXIF's other tags about it.
enum GPSFacts {
  private static let prefix = "Exif.GPSInfo."

  /// Tags that `latitude`, `longitude`, `altitude` and `timestamp` replace.
  private static let parts: Set = [
    "GPSLatitude", "GPSLatitudeRef", "GPSLongitude", "GPSLongitudeRef", "GPSAltitude",
    "GPSAltitudeRef", "GPSTimeStamp", "GPSTag",
  ]

  /// Possible altitudes of a camera, in metres above sea level.
  private static let altitudes = -1_000_000.0...1_000_000.0

  /// Reads the place; leaves out impossible values, and reports them in `problem`.
  static func read(
    _ file: MetadataFile, _ limits: inout FactLimits, problem: (String) -> Void
  ) -> [String: JSONValue] {
    let (keys, _) = file.keys(.exif, limit: FactLimits.tags)
    let names = keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    var facts: [String: JSONValue] = [:]
    place(file, &limits, &facts, problem)
    if let altitude = altitude(file) {
      if altitudes.contains(altitude) {
        limits.add(TagNumber.json(altitude), "altitude", to: &facts)
      } else {
        problem("The altitude \(altitude) m is left out: it is impossible.")
      }
    }
    if let time = timestamp(file) { limits.add(.string(time), "timestamp", to: &facts) }
    for name in names where !parts.contains(name) && !name.hasPrefix("0x") {
      if let value = ExifFacts.value(prefix + name, name, file, &limits) {
        limits.add(value, name, to: &facts)
      }
    }
    return facts
  }

  private static func place(
    _ file: MetadataFile, _ limits: inout FactLimits, _ facts: inout [String: JSONValue],
    _ problem: (String) -> Void
  ) {
    guard let latitude = degrees(file, "GPSLatitude", positive: "N", negative: "S"),
      let longitude = degrees(file, "GPSLongitude", positive: "E", negative: "W")
    else { return }
    guard abs(latitude) <= 90, abs(longitude) <= 180 else {
      problem("The place \(latitude), \(longitude) is left out: it is not on Earth.")
      return
    }
    limits.add(TagNumber.json(latitude), "latitude", to: &facts)
    limits.add(TagNumber.json(longitude), "longitude", to: &facts)
  }

  /// Converts degrees, minutes and seconds to decimal degrees; `nil` without a hemisphere.
  private static func degrees(
    _ file: MetadataFile, _ name: String, positive: Character, negative: Character
  ) -> Double? {
    let side = text(file, name + "Ref")?.uppercased().first
    let numbers = numbers(file, name)
    guard side == positive || side == negative, (1...3).contains(numbers.count),
      let whole = numbers[0]
    else { return nil }
    // Unknown minutes or seconds are written as 0/0.
    let minutes = numbers.count > 1 ? numbers[1] ?? 0 : 0
    let seconds = numbers.count > 2 ? numbers[2] ?? 0 : 0
    let degrees = whole + minutes / 60 + seconds / 3600
    return side == negative && degrees != 0 ? -degrees : degrees
  }

  private static func altitude(_ file: MetadataFile) -> Double? {
    guard let metres = numbers(file, "GPSAltitude").first ?? nil else { return nil }
    // 1 and 3 mean below sea level or ellipsoid. Source: EXIF 3.0, section 4.6.6.
    let reference = numbers(file, "GPSAltitudeRef").first ?? nil
    return reference == 1 || reference == 3 ? -metres : metres
  }

  /// The satellites' time, in UTC.
  private static func timestamp(_ file: MetadataFile) -> String? {
    let numbers = numbers(file, "GPSTimeStamp")
    guard let date = text(file, "GPSDateStamp").flatMap(TagDate.date), numbers.count == 3,
      let hour = numbers[0], let minute = numbers[1], let second = numbers[2],
      let hours = Int(exactly: hour), let minutes = Int(exactly: minute), (0...23).contains(hours),
      (0...59).contains(minutes), (0..<61).contains(second)
    else { return nil }
    let milliseconds = Int((second * 1000).rounded(.down))
    let fraction = milliseconds % 1000 == 0 ? "" : "." + CivilTime.pad(milliseconds % 1000, 3)
    let clock = [hours, minutes, milliseconds / 1000].map { CivilTime.pad($0) }
    return "\(date)T\(clock.joined(separator: ":"))\(fraction)Z"
  }

  private static func text(_ file: MetadataFile, _ name: String) -> String? {
    bounded(file, name).flatMap(TagText.decode)
  }

  private static func numbers(_ file: MetadataFile, _ name: String) -> [Double?] {
    TagNumber.list(String(decoding: bounded(file, name) ?? [], as: UTF8.self))
  }

  /// The value's text, unless it is longer than any of these tags can be.
  private static func bounded(_ file: MetadataFile, _ name: String) -> [UInt8]? {
    guard let bytes = file.bytes(prefix + name), bytes.count <= 256 else { return nil }
    return file.text(prefix + name)
  }
}
