import Vips

/// The moment a picture was taken, as the camera's clock had it.
struct CaptureTime {
  /// RFC 3339; without an offset where the zone is unknown.
  let text: String

  /// Reads EXIF's time, or returns `nil` where it is absent or no date of any calendar.
  init?(_ exif: ExifBlock) {
    guard let written = exif.dateTimeOriginal else { return nil }
    let digits = Array(written.utf8)
    guard digits.count >= 19 else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      guard digits[range].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      return digits[range].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
    // Some programs write dashes or a T; the places are always the same.
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      year > 0, (1...12).contains(month), day >= 1, day <= Self.days(month, year),
      hour < 24, minute < 60, second < 61,
      [4, 7, 10, 13, 16].allSatisfy({ !(0x30...0x39).contains(digits[$0]) })
    else { return nil }
    func pad(_ value: Int, _ width: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    text =
      "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(hour, 2)):\(pad(minute, 2)):"
      + pad(second, 2) + Self.fraction(exif.subSecond) + (Self.zone(exif.offset) ?? "")
  }

  private static func fraction(_ digits: String?) -> String {
    let digits = (digits ?? "").prefix { $0.isASCII && $0.isNumber }.prefix(9)
    return digits.isEmpty ? "" : "." + digits
  }

  /// `+02:00`, or `nil` where it is not an offset that exists.
  private static func zone(_ text: String?) -> String? {
    guard let text else { return nil }
    if text == "Z" { return "Z" }
    let characters = Array(text.utf8.prefix(6))
    guard characters.count == 6, [0x2B, 0x2D].contains(characters[0]), characters[3] == 0x3A,
      [1, 2, 4, 5].allSatisfy({ (0x30...0x39).contains(characters[$0]) })
    else { return nil }
    let hours = Int(characters[1] - 0x30) * 10 + Int(characters[2] - 0x30)
    let minutes = Int(characters[4] - 0x30) * 10 + Int(characters[5] - 0x30)
    guard hours <= 14, minutes < 60 else { return nil }
    return String(decoding: characters, as: UTF8.self)
  }

  private static func days(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
