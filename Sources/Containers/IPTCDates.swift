/// The dates in IPTC datasets, with their times if present.
///
/// Source: IPTC-NAA IIM 4.2, sections 1.6 and 6: `20240506`, and `070809+0200`.
package struct IPTCDates {
  /// When the content was created, as written: `20240506 070809+0200`.
  package private(set) var created: String?
  /// When it was digitized, as written.
  package private(set) var digitized: String?

  /// Reads datasets up to the first damaged one.
  package init(_ bytes: [UInt8]) {
    var values: [Int: String] = [:]
    var at = 0
    while at + 5 <= bytes.count, bytes[at] == 0x1C {
      let length = bytes[(at + 3)..<(at + 5)].number()
      // Dates never use extended datasets, whose length field has its own length.
      guard length < 0x8000, at + 5 + length <= bytes.count else { break }
      if bytes[at + 1] == 2, [55, 60, 62, 63].contains(bytes[at + 2]), length <= 32 {
        values[Int(bytes[at + 2])] = String(latin1: bytes[(at + 5)..<(at + 5 + length)])
      }
      at += 5 + length
    }
    func moment(_ date: Int, _ time: Int) -> String? {
      values[date].map { $0 + (values[time].map { " " + $0 } ?? "") }
    }
    created = moment(55, 60)
    digitized = moment(62, 63)
  }
}
