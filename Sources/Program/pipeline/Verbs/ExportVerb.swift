import Catalog
import Configuration
import Export
import Files
import LibrarySession
import PipelineModel
import Query

/// `pipeline export`: copies originals or renditions out of the library.
enum ExportVerb: Verb {
  static let name = "export"
  static let summary = "Copy originals, or renditions, to a folder of your own"
  static let operands = "[QUERY]"
  static let takesQuery = true
  static let to = Option(
    name: "--to", value: "DIR",
    help: "the folder to export to, which must be given; made if it is missing")
  static let layout = Option(
    name: "--layout", value: "LAYOUT",
    help: "paths below it, as {taken:yyyy}/{taken:MM}/{name}; by default {name}")
  static let rendition = Option(
    name: "--rendition", value: "NAME", help: "a rendition, as NAME or STAGE/NAME")
  static let transfer = Option(
    name: "--transfer", value: "HOW", help: "auto (reflink or copy), reflink, hardlink or copy",
    values: ExportTransfer.allCases.map(\.rawValue))
  static let sidecars = Option(
    name: "--sidecars",
    help: "write title, caption, tags, rating and albums beside each file, as NAME.xmp")
  static let withGroup = Option(
    name: "--with-group",
    help: "also what belongs to each file: its raw file, JPEG, film and imported sidecars")
  static let options = [
    to, layout, rendition, transfer, sidecars, withGroup, Option.sort, .limit, .dryRun,
  ]
  static let details: (title: String, rows: [(String, String)])? = (
    "Placeholders of a layout",
    ExportLayout.ownNames.map { ("{\($0.name)}", $0.summary) } + [
      ("{taken:yyyy}", "parts of a time: yyyy MM dd HH mm ss"),
      ("{camera}", "any field of a query; see help query"),
      ("{camera|none}", "the same, or “none” instead of “unknown” if it has no value"),
    ]
  )
  static let examples = [
    ("pipeline export --to ~/backup camera:fuji taken:2024-05", "what a camera took in a month"),
    (
      "pipeline export --to DIR --layout '{taken:yyyy}/{taken:MM}/{name}'",
      "in a folder for each month"
    ),
    ("pipeline export --to web 'rating>=4' --rendition grid", "thumbnails of the best"),
    ("pipeline export --to DIR album:best --sidecars", "with what you said about them, for others"),
    ("pipeline export --to DIR 'rating=5' --with-group", "the best, with their raw files"),
    ("cd DIR && sha256sum -c SHA256SUMS", "whether the copies are whole"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    guard let destination = context.arguments.path(to) else {
      throw UsageError("--to DIR is missing: the folder to export to.", verb: name)
    }
    let search = try context.assetSearch()
    let options = try options(context)
    let isDryRun = options.isDryRun
    let console = context.console
    let session = try ReadingSession(context.search)
    SignalHandler.shared.listen()
    let export = try AssetExport(
      of: session.library, session.catalog, to: context.path(destination),
      sources: session.setup.configuration.sources.map(\.path), options
    ) {
      tell($0, isDryRun: isDryRun, console)
    } isStopped: {
      SignalHandler.shared.isStopRequested
    }
    if options.layout.asksForMetadata { context.warnOfMissingMetadata(in: session) }
    let progress = StepProgress(console)
    let needsMetadata = options.layout.asksForMetadata || options.hasSidecars
    var groups: GroupCompletion? =
      context.arguments.has(withGroup) ? GroupCompletion(session.catalog) : nil
    func add(_ id: AssetID, _ values: AssetValues) throws {
      if SignalHandler.shared.isStopRequested { throw Stopped() }
      // One that was removed meanwhile is left out.
      guard let asset = try session.catalog.asset(id) else { return }
      try export.add(asset, values)
      progress.draw(words(export.counts, isDryRun: isDryRun))
    }
    do {
      try search.run(
        in: session.catalog, damaged: session.damagedAssets(for: search.filter),
        need: needsMetadata ? .metadata : .values
      ) { id, values in
        guard let values, groups?.isNew(id) ?? true else { return }
        try add(id, values)
        let others = try groups?.others(with: id) ?? []
        for (id, values) in try session.catalog.assetValues(of: others, withMetadata: needsMetadata)
        {
          try add(id, values)
        }
      }
    } catch is Stopped {}
    try export.finish()
    console.wipe()
    context.explain(found: export.counts.found, by: search, in: session)
    return summarize(export.counts, context.path(destination), options, console)
  }

  private struct Stopped: Error {}

  private static func options(_ context: Context) throws -> AssetExport.Options {
    let arguments = context.arguments
    var transfer = ExportTransfer.auto
    if let text = arguments.value(Self.transfer) {
      guard let known = ExportTransfer(rawValue: text) else {
        throw UsageError.unknownValue(
          text, of: Self.transfer, known: Self.transfer.values, verb: name)
      }
      transfer = known
    }
    if arguments.value(rendition) != nil, ![.auto, .copy].contains(transfer) {
      throw UsageError(
        "Renditions are always copied: \(Self.transfer.name) \(transfer.rawValue) is for originals.",
        verb: name)
    }
    return AssetExport.Options(
      layout: try ExportLayout(arguments.value(layout) ?? "{name}"),
      rendition: arguments.value(rendition), transfer: transfer,
      hasSidecars: arguments.has(sidecars), isDryRun: arguments.has(.dryRun))
  }

  private static func tell(_ file: ExportedFile, isDryRun: Bool, _ console: Console) {
    let (outcome, reason): (String, String?) =
      switch file.outcome {
      case .exported: ("exported", nil)
      case .present: ("present", nil)
      case .skipped: ("skipped", "It has no such rendition.")
      case .failed(let error): ("failed", error.message)
      }
    if console.isJSON {
      var members: [String: JSONValue] = [
        "asset": .string(file.asset.description), "outcome": .string(outcome),
        "bytes": .integer(file.bytes), "reason": JSONMembers.text(reason), "path": .null,
      ]
      if isDryRun { members["dryRun"] = true }
      if file.isRenamed { members["renamed"] = true }
      if let path = file.path { members.merge(JSONMembers.path(path)) { $1 } }
      return console.event("file", members)
    }
    let name = file.path?.printable ?? "\(file.asset)"
    if case .failed(let error) = file.outcome {
      console.error("failed: \(name): \(error.message)")
    } else if isDryRun {
      console.result("\(outcome)\t\(name)")
    } else if console.isVerbose {
      console.message("\(outcome): \(name)")
    }
  }

  private static func words(_ counts: ExportCounts, isDryRun: Bool) -> String {
    let size = ByteSize(bytes: counts.bytes).description
    var parts = [
      "\(counted(counts.exported, "file")) (\(size)) \(isDryRun ? "would be " : "")exported"
    ]
    if counts.renamed > 0 {
      parts.append("\(counts.renamed) numbered because the name was taken")
    }
    if counts.sidecars > 0 { parts.append(counted(counts.sidecars, "sidecar")) }
    if counts.present > 0 { parts.append("\(counts.present) already there") }
    if counts.skipped > 0 { parts.append("\(counts.skipped) without this rendition") }
    if counts.failed > 0 { parts.append("\(counts.failed) failed") }
    return parts.joined(separator: ", ")
  }

  private static func summarize(
    _ counts: ExportCounts, _ destination: BytePath, _ options: AssetExport.Options,
    _ console: Console
  ) -> ExitCode {
    var members: [String: JSONValue] = [
      "exported": .integer(counts.exported), "present": .integer(counts.present),
      "skipped": .integer(counts.skipped), "failed": .integer(counts.failed),
      "renamed": .integer(counts.renamed), "sidecars": .integer(counts.sidecars),
      "bytes": .integer(counts.bytes),
    ]
    members.merge(JSONMembers.path(destination, key: "to")) { $1 }
    let sentence = words(counts, isDryRun: options.isDryRun)
    console.summary("exported", members, sentence + ".", isDryRun: options.isDryRun)
    if let code = SignalHandler.shared.exitCode { return code }
    if let rendition = options.rendition, counts.skipped > 0,
      counts.exported + counts.present + counts.failed == 0
    {
      console.error(
        "None of the assets found has a rendition “\(rendition)”; `pipeline show ID` lists those of one."
      )
      return .someFailed
    }
    return counts.failed > 0 ? .someFailed : .success
  }
}
