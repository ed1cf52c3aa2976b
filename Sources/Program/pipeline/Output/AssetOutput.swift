import Catalog
import Files
import Glibc
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records

/// Prints assets in the format that was asked for.
struct AssetOutput {
  enum Format: String, CaseIterable {
    /// Columns separated by tabs, without a header; the default on a pipe.
    case lines
    /// Aligned columns that fit the terminal; the default on one.
    case table
    case json, csv, tsv
  }

  private let console: Console
  private let format: Format
  /// The columns that were asked for; `nil` for those of the format.
  private let chosen: [AssetColumn]?
  private let width: Int

  init(_ context: Context) throws(UsageError) {
    let (arguments, console) = (context.arguments, context.console)
    self.console = console
    let terminal = Terminal.width(of: STDOUT_FILENO)
    width = terminal ?? 80
    if let name = arguments.value(.format) {
      guard let known = Format(rawValue: name) else {
        throw .unknownValue(
          name, of: .format, known: Format.allCases.map(\.rawValue), verb: arguments.verb)
      }
      if console.isJSON, known != .json {
        throw UsageError("--json and --format \(name) exclude each other.", verb: arguments.verb)
      }
      format = known
    } else {
      format = console.isJSON ? .json : terminal == nil ? .lines : .table
    }
    guard let names = arguments.value(.fields) else {
      chosen = nil
      return
    }
    var columns: [AssetColumn] = []
    for name in names.split(separator: ",", omittingEmptySubsequences: false) {
      guard let column = AssetColumn(named: String(name)) else {
        throw .unknownValue(
          String(name), of: .fields, known: AssetColumn.names, verb: arguments.verb)
      }
      columns.append(column)
    }
    chosen = columns
  }

  /// Whether it prints JSON.
  var isJSON: Bool { format == .json }

  /// Whether it prints whole assets as JSON.
  var isWholeJSON: Bool { isJSON && chosen == nil }

  /// Whether it prints whole assets as lines.
  var isWholeLines: Bool { format == .lines && chosen == nil }

  /// What it needs of the assets that are found.
  var need: AssetSearch.Need {
    // A whole asset is read by its key.
    if isWholeLines || isWholeJSON { return .keys }
    return columns.contains { Field.named($0.name)?.isMetadata == true } ? .metadata : .values
  }

  /// Prints the header, if the format has one.
  func begin() {
    switch format {
    case .lines, .json: break
    case .table: printTable(columns.map(\.title))
    case .csv: console.result(csv(columns.map(\.name)))
    case .tsv: console.result(columns.map(\.name).joined(separator: "\t"))
    }
  }

  /// Prints an asset; one that was removed meanwhile is left out.
  ///
  /// - Parameter values: `nil` if only the whole asset is printed.
  func print(
    _ id: AssetID, _ values: AssetValues?, _ damage: [DamageList.Entry], _ catalog: CatalogReader
  ) throws {
    if isWholeJSON || isWholeLines {
      // SQL writes JSON several times faster than `JSONEncoder`.
      if isWholeJSON, damage.isEmpty, let line = try catalog.assetLine(of: id),
        console.event(line: line)
      {
        return
      }
      if let asset = try catalog.asset(id) { print(asset, damage) }
      return
    }
    guard let values else { return }
    // A tab in a text must not begin another column.
    let texts = { columns.map { $0.text(values).printable } }
    switch format {
    case .lines: console.result(texts().map { $0.isEmpty ? "-" : $0 }.joined(separator: "\t"))
    case .tsv: console.result(texts().joined(separator: "\t"))
    case .csv: console.result(csv(texts()))
    case .table:
      var texts = columns.map { $0.short(values) }
      if chosen == nil, values.flags.contains(.withoutThumbnail), let last = texts.indices.last {
        texts[last] += " (no thumbnail)"
      }
      printTable(texts)
    case .json:
      var members = Dictionary(
        columns.map { ($0.name, $0.json(values)) }, uniquingKeysWith: { $1 })
      for (field, path) in values.rawPaths where members[field.rawValue] != nil {
        members.merge(JSONMembers.path(path, key: field.rawValue)) { $1 }
      }
      console.event("asset", members)
    }
  }

  /// Prints a whole asset.
  func print(_ asset: AssetRecord, _ damage: [DamageList.Entry]) {
    if format == .json {
      console.event("asset", JSONMembers.asset(asset, damage: damage))
    } else {
      console.result(AssetLines.line(asset, damage))
    }
  }

  private var columns: [AssetColumn] {
    if let chosen { return chosen }
    guard format == .table else { return Self.file }
    return Self.table.filter { width >= Self.wide || $0.name != "pixels" }
  }

  private static let table = ["id", "taken", "kind", "pixels", "size", "state", "name"]
    .compactMap(AssetColumn.init(named:))

  /// The characters from which a table shows everything.
  private static let wide = 100

  private static let file = Field.all.map(\.name).compactMap(AssetColumn.init(named:))

  /// A row of aligned columns, cut to the terminal's width.
  private func printTable(_ texts: [String]) {
    let cells = zip(columns, texts).dropLast().map { column, text in
      text.printable.shortened(to: column.width).padded(to: column.width)
    }
    let row = (cells + [(texts.last ?? "").printable]).joined(separator: "  ")
    console.result(row.shortened(to: max(1, width)))
  }

  /// A row by RFC 4180.
  private func csv(_ texts: [String]) -> String {
    texts.map { text in
      let needsQuotes = text.contains { $0 == "," || $0 == "\"" }
      return needsQuotes ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
    }.joined(separator: ",")
  }
}
