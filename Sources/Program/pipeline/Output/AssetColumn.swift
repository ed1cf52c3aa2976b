import Catalog
import Glibc
import PipelineModel
import Query

/// A column of a list of assets.
struct AssetColumn: Sendable {
  let name: String
  /// How many characters of a table it takes.
  let width: Int
  /// The value; empty if there is none.
  let text: @Sendable (AssetValues) -> String
  /// The value in a table.
  let short: @Sendable (AssetValues) -> String
  let json: @Sendable (AssetValues) -> JSONValue

  var title: String { name.uppercased() }

  static let names = Field.all.map(\.name) + ["pixels"]

  init?(named name: String) {
    self.name = name
    switch name {
    case "pixels":
      let text = { @Sendable (values: AssetValues) in
        values.text(of: .number(.width)).flatMap { width in
          values.text(of: .number(.height)).map { "\(width)x\($0)" }
        } ?? ""
      }
      (self.text, short, width) = (text, text, 11)
      json = { text($0).isEmpty ? .null : .string(text($0)) }
    default:
      guard let field = Field.named(name) else { return nil }
      text = { $0.text(of: field) ?? "" }
      json = { $0.json(of: field) }
      let (width, short) = Self.short(field)
      self.width = width
      self.short = short
    }
  }

  private static func short(_ field: Field) -> (width: Int, text: @Sendable (AssetValues) -> String)
  {
    switch field {
    // The end of a UUIDv7 is random; its beginning is the time.
    case .text(.id): (8, { String(($0.text(of: field) ?? "").suffix(8)) })
    case .text(.kind): (5, { $0.text(of: field) ?? "-" })
    case .text(.state): (10, { $0.text(of: field) ?? "-" })
    case .text: (24, { $0.text(of: field) ?? "-" })
    case .number(.size):
      (
        9,
        { $0.numbers[.size].map { ByteSize(bytes: Int(exactly: $0) ?? .max).description } ?? "-" }
      )
    case .number: (9, { $0.text(of: field) ?? "-" })
    case .time(.taken):
      (16, { $0.text(of: field).map { String($0.prefix(16)).replacing("T", with: " ") } ?? "-" })
    case .time(let field): (16, { $0.times[field].map { localTime($0) } ?? "-" })
    }
  }
}

/// A point in time by the clock of this machine, such as `2024-05-17 12:30`.
///
/// - Parameter microseconds: since 1970.
private func localTime(_ microseconds: Int64) -> String {
  var seconds = time_t(microseconds / 1_000_000)
  var parts = tm()
  localtime_r(&seconds, &parts)
  func digits(_ value: Int32) -> String { String(String(100 + value).suffix(2)) }
  return "\(parts.tm_year + 1900)-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday)) "
    + "\(digits(parts.tm_hour)):\(digits(parts.tm_min))"
}
