import Containers
import PipelineModel

/// Facts about formats that are not decoded but have their size at a fixed offset.
enum PlainHeaders {
  /// Reads width and height; returns nothing for other formats and invalid sizes.
  static func read(
    _ type: MediaType, head: [UInt8], _ embedded: EmbeddedMetadata
  ) -> [String: JSONValue] {
    func number(_ offset: Int, _ size: Int, little: Bool = false) -> Int? {
      guard offset + size <= head.count else { return nil }
      let bytes = head[offset..<(offset + size)]
      let add: (Int, UInt8) -> Int = { $0 << 8 | Int($1) }
      return little ? bytes.reversed().reduce(0, add) : bytes.reduce(0, add)
    }
    let width: Int?
    let height: Int?
    switch type.rawValue {
    case "image/vnd.adobe.photoshop":
      (width, height) = (number(18, 4), number(14, 4))
    case "image/bmp":
      // A negative height, in two's complement, means rows from top to bottom.
      let rows = number(22, 4, little: true).map { Int(Int32(truncatingIfNeeded: $0)).magnitude }
      (width, height) = (number(18, 4, little: true), rows.map { Int($0) })
    default: return [:]
    }
    guard let width, let height, (1...1_000_000).contains(width), (1...1_000_000).contains(height)
    else { return [:] }
    var facts: [String: JSONValue] = [
      "width": .integer(width), "height": .integer(height), "orientation": 1,
    ]
    facts["bitDepth"] = embedded.bitDepth.map { .integer($0) }
    return facts
  }
}
