import Catalog
import Configuration
import Ingest
import LibrarySession
import PipelineModel

/// `pipeline move-catalog`: moves the catalog to a database, or back, without doing any job again.
enum MoveCatalogVerb: Verb {
  static let name = "move-catalog"
  static let summary = "Move the catalog to PostgreSQL, or back into the library"
  static let operands = "[postgresql://HOST/DATABASE | FOLDER | library]"
  static let from = Option(
    name: "--from", value: "PLACE",
    help: "where the catalog is, if neither in the library nor where \"catalog\" says")
  static let options = [from, Option.dryRun, Option.wait]
  static let examples = [
    ("pipeline move-catalog", "from the library to where \"catalog\" in pipeline.json says"),
    ("pipeline move-catalog --dry-run", "how much that would be"),
    ("pipeline move-catalog library", "from there back into the library"),
    ("pipeline move-catalog --from postgresql:///photos", "the same, once \"catalog\" is gone"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    let setup = try LibrarySetup(context.search)
    let (old, new) = try places(context, setup)
    guard old.catalogPlace != new.catalogPlace else {
      throw UsageError(
        "The catalog would be moved from “\(old.catalogPlace.name.printable)” to the same place. Name another, set "
          + "\"catalog\" in pipeline.json, or say --from where it is.", verb: name)
    }
    let signals = SignalHandler.shared
    signals.listen()
    let found = try LibraryFolder.open(new)
    let move = CatalogMove(
      from: try LibraryFolder.open(old), to: found,
      reserve: { [configuration = setup.configuration] size in
        LibrarySetup.reserve(configuration, diskSize: size)
      }
    ) { signals.isStopRequested }
    let isDryRun = context.arguments.has(.dryRun)
    let result: CatalogMove.Result
    if isDryRun {
      result = try move.preview()
    } else {
      try setup.checkFileSystem(of: new)
      let lock = try found.lock(wait: context.wait()) { signals.isStopRequested }
      result = try withExtendedLifetime(lock) { try run(move, context.console) }
    }
    report(result, from: old, to: new, isDryRun: isDryRun, context.console, setup)
    return .success
  }

  private static func run(_ move: CatalogMove, _ console: Console) throws -> CatalogMove.Result {
    defer { console.wipe() }
    let progress = StepProgress(console)
    return try move.run { step in
      switch step {
      case .copying(let count, let all): progress.draw("\(count) of \(all) rows copied")
      case .renditions(let count, let all): progress.draw("\(count) of \(all) renditions copied")
      case .comparing(let count, let all): progress.draw("\(count) of \(all) rows compared")
      }
    }
  }

  private static func report(
    _ result: CatalogMove.Result, from old: LibraryLayout, to new: LibraryLayout, isDryRun: Bool,
    _ console: Console, _ setup: LibrarySetup
  ) {
    let (from, place) = (old.catalogPlace.name, new.catalogPlace.name)
    let copied = result.copied
    var sentence = "The catalog is in \(place.printable) already."
    if !result.wasThere {
      let what =
        "\(counted(copied.rows, "row")) and \(counted(copied.renditions, "rendition")) "
        + "(\(ByteSize(bytes: copied.renditionBytes)))"
      sentence =
        isDryRun
        ? "\(what) would be moved from \(from.printable) to \(place.printable)."
        : "\(what) moved to \(place.printable)."
    }
    if let former = result.former { sentence += " The former catalog is \(former.printable)." }
    if place != setup.layout.catalogPlace.name {
      sentence +=
        new.catalogPlace == .file(setup.layout.root.appending("catalog.sqlite"))
        ? " Remove \"catalog\" from pipeline.json."
        : " Set \"catalog\" in pipeline.json accordingly."
    }
    console.summary(
      "moved",
      [
        "from": .string(from.description), "to": .string(place.description),
        "rows": .integer(copied.rows), "assets": .integer(copied.assets),
        "renditions": .integer(copied.renditions), "bytes": .integer(copied.renditionBytes),
        "missing": .integer(copied.lost), "former": JSONMembers.text(result.former?.description),
      ], sentence, isDryRun: isDryRun)
    if copied.lost > 0 {
      console.warning(
        "The bytes of \(counted(copied.lost, "rendition")) were missing or damaged; the next run makes them again."
      )
    }
  }

  /// Where the catalog is, and where it is to be.
  private static func places(
    _ context: Context, _ setup: LibrarySetup
  ) throws -> (old: LibraryLayout, new: LibraryLayout) {
    func layout(_ location: CatalogLocation?) -> LibraryLayout {
      setup.layout.withoutBucket.withCatalog(in: location?.folder, or: location?.database)
    }
    let configured = layout(setup.configuration.catalog)
    let new = try context.arguments.operands.first.map { try layout(location($0, context)) }
    let old = try context.arguments.path(from).map { try layout(location($0, context)) }
    let target = new ?? configured
    let isElsewhere = target.catalogPlace != configured.catalogPlace
    return (old ?? (isElsewhere ? configured : layout(nil)), target)
  }

  /// Reads a place from the command line; `nil` for the library's own folder.
  private static func location(
    _ word: BytePath, _ context: Context
  ) throws(UsageError) -> CatalogLocation? {
    if word == "library" { return nil }
    guard let text = word.utf8, DatabaseLocation.isMeant(by: text) else {
      return .folder(context.path(word))
    }
    do throws(LocationFault) {
      let address = try DatabaseLocation(text)
      if let fault = CatalogServer.fault(in: address) {
        throw LocationFault(reason: "is no address: \(fault)")
      }
      return .database(address)
    } catch {
      throw UsageError("“\(text)” \(error.reason).", verb: name)
    }
  }
}
