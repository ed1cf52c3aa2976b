import PipelineModel

/// What the name of a file says of the burst that it belongs to.
///
/// | name | written by |
/// | --- | --- |
/// | `IMG_20200101_120000_BURST001.jpg`, `IMG_20200101_120000_BURST000_COVER.jpg` | Huawei, HTC, Motorola, OnePlus |
/// | `00001IMG_00001_BURST20200101120000123.jpg`, `DSC_0001_BURST20200101120000123_COVER.JPG` | Google, Sony |
/// | `PXL_20200101_120000123.BURST-01.COVER.jpg` | Google |
/// | `20200101_120000_001.jpg` | Samsung |
struct BurstName: Hashable {
  /// The path, without what differs between the pictures of a burst.
  let series: [UInt8]
  /// Whether the camera chose this picture to stand for the burst.
  let isCover: Bool
  /// How few pictures may be a burst: a mere number behind a time needs more.
  let leastFrames: Int

  /// - Returns: `nil` if the name says nothing of a burst.
  init?(_ path: BytePath) {
    // Most names end here, without a closer look.
    let whole = path.bytes[((path.bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...]
    guard whole.first.map(Self.isDigit) == true || whole.contains("BURST".utf8) else { return nil }
    let stem = NameStem(of: path).path[...]
    let start = stem.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? stem.startIndex
    let folder = stem[..<start]
    var name = stem[start...]
    let end = Self.ending(name, ["_COVER", ".COVER"])
    isCover = end != nil
    if let end { name = name[..<end] }
    let digits = name.reversed().prefix { Self.isDigit($0) }.count
    let number = name.suffix(digits)
    let head = name.dropLast(digits)
    guard digits > 0, let mark = Self.ending(head, ["_BURST", ".BURST-"]), mark > name.startIndex
    else {
      // Eight digits of a date, six of a time, three that count.
      guard !isCover, digits == 3, head.count == 16, Self.isTime(head) else { return nil }
      (series, leastFrames) = (Array(folder + head), 3)
      return
    }
    switch digits {
    case 1...4: series = Array(folder + head)
    // The time of the burst; what comes before it counts the pictures.
    case 14...20: series = Array(folder) + Array("BURST".utf8) + number
    default: return nil
    }
    leastFrames = 2
  }

  /// Where one of some endings begins.
  private static func ending(_ name: ArraySlice<UInt8>, _ endings: [String]) -> Int? {
    let found = endings.first { name.suffix($0.utf8.count).elementsEqual($0.utf8) }
    return found.map { name.endIndex - $0.utf8.count }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

  /// Whether a text is `20200101_120000_`.
  private static func isTime(_ text: ArraySlice<UInt8>) -> Bool {
    let bytes = Array(text)
    func number(_ range: Range<Int>) -> Int? {
      guard bytes[range].allSatisfy(isDigit) else { return nil }
      return bytes[range].reduce(0) { $0 * 10 + Int($1 - 48) }
    }
    guard bytes.count == 16, bytes[8] == UInt8(ascii: "_"), bytes[15] == UInt8(ascii: "_"),
      let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
      let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15)
    else { return false }
    return (1990...2099).contains(year) && (1...12).contains(month) && (1...31).contains(day)
      && hour < 24 && minute < 60 && second < 60
  }
}
