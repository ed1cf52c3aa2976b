import Catalog
import LibraryControl
import LibrarySession
import PipelineModel
import Query

/// `pipeline tag`: gives assets tags, albums, ratings, titles and captions.
enum TagVerb: Verb {
  static let name = "tag"
  static let summary = "Give assets tags, albums, ratings, titles and captions, or take them away"
  static let operands = "ID…|QUERY [+TAG…] [-TAG…]"
  static let takesQuery = true
  static let add = Option(
    name: "--add", value: "TAG", help: "the same as +TAG; may be repeated", isRepeatable: true)
  static let remove = Option(
    name: "--remove", value: "TAG", help: "the same as -TAG, for any tag; may be repeated",
    isRepeatable: true)
  static let album = Option(
    name: "--album", value: "NAME", help: "add to this album; may be repeated", isRepeatable: true)
  static let removeAlbum = Option(
    name: "--remove-album", value: "NAME", help: "take out of this album; may be repeated",
    isRepeatable: true)
  static let rating = Option(
    name: "--rating", value: "STARS", help: "1 to 5, 0 for none, -1 for rejected",
    values: (-1...5).map { "\($0)" })
  static let title = Option(name: "--title", value: "TEXT", help: "the title")
  static let caption = Option(name: "--caption", value: "TEXT", help: "the caption")
  static let clear = Option(
    name: "--clear", value: "PROPERTY",
    help: "no title, caption or rating, whatever the file says; may be repeated",
    values: clearable.map(\.rawValue), isRepeatable: true)
  static let options = [
    add, remove, album, removeAlbum, rating, title, caption, clear, Option.yes, .wait, .dryRun,
  ]
  static let examples = [
    ("pipeline tag camera:fuji taken:2024-05 +harvest", "what a camera took in a month"),
    ("pipeline tag 3f9c +keep -draft --rating 4", "one asset, by the end of its ID"),
    ("pipeline tag tag:keep --album 'Best of 2024'", "what has a tag goes into an album"),
    ("pipeline tag album:best --remove-album 'Best of 2024'", "and out of it"),
    ("pipeline list --group-by album", "all albums"),
  ]

  private static let clearable = Annotation.Property.allCases.filter { !$0.isList }

  static func run(_ context: Context) throws -> ExitCode {
    let operands = context.arguments.operands
    let named = operands.filter { tag(in: $0) == nil }
    let annotations = try annotations(context)
    guard !annotations.isEmpty else {
      throw UsageError("Say what to change: +TAG, -TAG, --album, --rating, …", verb: name)
    }
    guard !named.isEmpty else {
      throw UsageError("Name the assets, or find them by a query.", verb: name)
    }
    let assets = try context.namedAssets(named[...])
    let isDryRun = context.arguments.has(.dryRun)
    var count = 0
    if isDryRun {
      count = try changed(assets.ids, by: annotations, context)
    } else {
      if case .found(let found) = assets {
        let question = "Change what is said about \(counted(found.count, "asset"))?"
        guard try context.isConfirmed(found.count, question) else { return .success }
      }
      count = try context.perform(for: assets.ids, counting: "assets") {
        .annotate($0, with: annotations)
      }
    }
    context.console.summary("tagged", count, "asset", "changed", isDryRun: isDryRun)
    return SignalHandler.shared.exitCode ?? .success
  }

  /// The tag of an operand such as `+keep` or `-draft`; `nil` if it belongs to the query, as
  /// `-tag:draft` does.
  private static func tag(in operand: BytePath) -> (text: String, applies: Bool)? {
    guard let text = operand.utf8, let sign = text.first, text.count > 1 else { return nil }
    let rest = text.dropFirst()
    if sign == "+" { return (String(rest), true) }
    guard sign == "-", let next = rest.first, !"(@\"-".contains(next),
      !rest.contains(where: { ":=<>".contains($0) })
    else { return nil }
    return (String(rest), false)
  }

  private static func annotations(_ context: Context) throws -> [Annotation] {
    var annotations: [Annotation] = []
    for operand in context.arguments.operands {
      guard let tag = tag(in: operand) else { continue }
      try checkIsOneTag(operand)
      annotations.append(try annotation(tag.text, as: .tag, applies: tag.applies))
    }
    for (option, property, applies) in [
      (add, Annotation.Property.tag, true), (remove, .tag, false), (album, .album, true),
      (removeAlbum, .album, false), (rating, .rating, true), (title, .title, true),
      (caption, .caption, true),
    ] {
      for text in try context.words(context.arguments.all(option)[...]) {
        annotations.append(try annotation(text, as: property, applies: applies))
      }
    }
    for value in context.arguments.all(clear) {
      guard let property = clearable.first(where: { $0.rawValue == value.description }) else {
        throw UsageError.unknownValue(
          value.description, of: clear, known: clear.values, verb: name)
      }
      annotations.append(Annotation(property, "", applies: false))
    }
    guard annotations.count <= Annotation.mostAtOnce else {
      throw UsageError("These are more than \(Annotation.mostAtOnce) changes at once.", verb: name)
    }
    try checkContradictions(annotations)
    return annotations
  }

  /// Refuses `'+keep -draft'`: one operand is one tag, which may contain spaces.
  private static func checkIsOneTag(_ operand: BytePath) throws(UsageError) {
    let others = operand.description.split(separator: " ").dropFirst()
    let isSuspect = others.contains { word in
      "+-".contains(word.first ?? " ") || word.contains { ":=<>".contains($0) }
    }
    guard isSuspect else { return }
    throw UsageError(
      "“\(operand.printable)” would be one tag: write each +TAG, -TAG and the query as words of their own, "
        + "or \(add.name) for such a tag.", verb: name)
  }

  private static func annotation(
    _ text: String, as property: Annotation.Property, applies: Bool
  ) throws(UsageError) -> Annotation {
    do throws(QueryError) {
      return try Annotation(checking: text, as: property, applies: applies)
    } catch {
      throw UsageError(error.message, verb: name)
    }
  }

  private static func checkContradictions(_ annotations: [Annotation]) throws(UsageError) {
    for annotation in annotations {
      let isContradicted = annotations.contains {
        $0.property == annotation.property && $0.applies != annotation.applies
          && (!annotation.property.isList || $0.text == annotation.text)
      }
      if isContradicted {
        let what = annotation.property.isList ? " “\(annotation.text)”" : ""
        throw UsageError(
          "The \(annotation.property.rawValue)\(what) is both given and taken away.", verb: name)
      }
    }
  }

  /// How many of some assets would change.
  private static func changed(
    _ ids: [AssetID], by annotations: [Annotation], _ context: Context
  ) throws -> Int {
    try context.reading { session in
      var count = 0
      for id in Set(ids) {
        guard let said = try session.catalog.annotations(of: id) else { continue }
        if !annotations.news(to: said).isEmpty { count += 1 }
      }
      return count
    }
  }
}
