import PipelineModel
import Query
import Records

/// Translates filters into conditions on the table `picture`.
///
/// Each finds the same assets as `Filter.holds`; a test of random filters compares them.
struct FilterCompiler {
  /// Assets that are damaged, beside those that a stage found so.
  var damaged: Set<AssetID> = []

  /// The condition on a row of `picture`, true or not; never for a missing value.
  func condition(_ filter: Filter) -> SQLFragment { condition(filter, isNegated: false) }

  private func condition(_ filter: Filter, isNegated: Bool) -> SQLFragment {
    switch filter {
    case .not(let filter): return condition(filter, isNegated: !isNegated)
    case .all(let filters), .any(let filters):
      let isAll = if case .all = filter { !isNegated } else { isNegated }
      return SQLFragment.joined(
        filters.map { condition($0, isNegated: isNegated) }, by: isAll ? "AND" : "OR",
        empty: isAll ? "TRUE" : "FALSE")
    default:
      let leaf = leaf(filter)
      // `NOT` of an unknown value would be unknown.
      return isNegated ? "(\(leaf)) IS NOT TRUE" : "(\(leaf))"
    }
  }

  private func leaf(_ filter: Filter) -> SQLFragment {
    switch filter {
    case .all, .any, .not: condition(filter)
    case .known(let field): known(field)
    case .text(let field, let match): text(field, match)
    case .number(let field, let range): number(SQLFragment(raw: "picture.\(field)"), range)
    case .time(let field, let range): time(SQLFragment(raw: "picture.\(field)"), range)
    case .flag(let flag): self.flag(flag)
    case .words(let words):
      SQLFragment.joined(
        words.map { "instr(picture.words, \(" " + $0.text + ($0.isPrefix ? "" : " "))) > 0" },
        by: "AND", empty: "TRUE")
    case .near(let area):
      """
      picture.latitude BETWEEN \(area.latitudes.lowerBound) AND \(area.latitudes.upperBound) \
      AND \(raw: NearFunction.name)(picture.latitude, picture.longitude, \
      \(area.latitude), \(area.longitude), \(area.radius))
      """
    }
  }

  // MARK: Values

  private func known(_ field: Field) -> SQLFragment {
    switch field {
    case .text(.id), .text(.digest), .text(.state): "TRUE"
    case .text(let field) where field.isList:
      "EXISTS (SELECT 1 FROM \(raw: field.table) WHERE picture = picture.number)"
    case .text(.group), .text(.role):
      "\(raw: AssetQuestion.expressions(of: field)[1]) IS NOT NULL"
    default: "picture.\(raw: field.name) IS NOT NULL"
    }
  }

  private func number(_ column: SQLFragment, _ range: NumberRange) -> SQLFragment {
    var parts: [SQLFragment] = []
    if let lower = range.lower {
      parts.append("\(column) \(raw: lower.isIncluded ? ">=" : ">") \(lower.value)")
    }
    if let upper = range.upper {
      parts.append("\(column) \(raw: upper.isIncluded ? "<=" : "<") \(upper.value)")
    }
    return SQLFragment.joined(parts, by: "AND", empty: "\(column.sql) IS NOT NULL")
  }

  private func time(_ column: SQLFragment, _ range: TimeRange) -> SQLFragment {
    var parts: [SQLFragment] = []
    if let lower = range.lower { parts.append("\(column) >= \(lower)") }
    if let upper = range.upper { parts.append("\(column) < \(upper)") }
    return SQLFragment.joined(parts, by: "AND", empty: "\(column.sql) IS NOT NULL")
  }

  private func text(_ field: TextField, _ match: TextMatch) -> SQLFragment {
    switch field {
    case .name, .path, .title, .caption:
      return condition(
        match, on: "picture.\(field)", folded: "ifnull(picture.\(field)_folded, picture.\(field))")
    case .source, .type, .camera, .lens:
      let terms: SQLFragment =
        "SELECT id FROM term WHERE \(condition(match, on: "text", folded: "folded"))"
      // One text can use an index in the order of time.
      if case .equals = match { return "picture.\(raw: field.rawValue) = (\(terms))" }
      return "picture.\(raw: field.rawValue) IN (\(terms))"
    case .tag, .album:
      return """
        picture.number IN (SELECT list.picture FROM term
          CROSS JOIN \(raw: field.table) AS list ON list.term = term.id
          WHERE \(condition(match, on: "term.text", folded: "term.folded")))
        """
    case .kind:
      let kinds = AssetKind.allCases.map(\.rawValue).filter { match.holds(for: $0) }
      return SQLFragment.joined(kinds.map { "picture.kind = \($0)" }, by: "OR", empty: "FALSE")
    case .state:
      let states = JobState.allCases.filter { match.holds(for: $0.rawValue) }
      return SQLFragment.joined(states.map(state), by: "OR", empty: "FALSE")
    case .group, .role:
      let expressions = AssetQuestion.expressions(of: .text(field))
      return condition(match, on: expressions[1], folded: expressions[0])
    case .digest:
      if case .equals(let text) = match {
        guard let digest = Digest(text), digest.hex == text else { return "FALSE" }
        return "picture.asset IN (SELECT id FROM asset WHERE digest = \(digest))"
      }
      let hex = "(SELECT lower(hex(digest)) FROM asset WHERE id = picture.asset)"
      return condition(match, on: hex, folded: hex)
    case .id:
      if case .equals(let text) = match {
        guard let id = AssetID(text), id.description == text else { return "FALSE" }
        return "picture.asset = \(id)"
      }
      let uuid = Schema.uuid("picture.asset")
      return condition(match, on: uuid, folded: uuid)
    }
  }

  /// How a text is compared.
  ///
  /// - Parameters:
  ///   - text: SQL for the composed text.
  ///   - folded: SQL for the folded one.
  private func condition(
    _ match: TextMatch, on text: String, folded: String
  ) -> SQLFragment {
    switch match {
    case .contains(let part): "instr(\(raw: folded), \(part)) > 0"
    case .equals(let whole): "\(raw: text) = \(whole)"
    case .includes(let part): "instr(\(raw: text), \(part)) > 0"
    case .begins(let part): "instr(\(raw: text), \(part)) = 1"
    case .pattern(let parts): "\(raw: folded) GLOB \(Self.glob(parts))"
    }
  }

  /// A pattern as SQLite's GLOB writes it. Source: sqlite.org/lang_expr.html#the_like_glob_regexp_match_and_extract_operators.
  private static func glob(_ parts: [PatternPart]) -> String {
    parts.map { part in
      switch part {
      case .any: "*"
      case .one: "?"
      case .character(let scalar):
        "*?[".unicodeScalars.contains(scalar) ? "[\(scalar)]" : "\(scalar)"
      }
    }.joined()
  }

  // MARK: States

  /// An asset's state, as in the view `asset_state`.
  private typealias JobState = AssetRecord.State

  private func flag(_ flag: Flag) -> SQLFragment {
    switch flag {
    case .ready: state(.ready)
    case .processing: state(.processing)
    case .done: state(.done)
    case .failed: state(.failed)
    case .trashed: state(.trashed)
    case .landscape: "picture.width > picture.height"
    case .portrait: "picture.width < picture.height"
    case .square: "picture.width = picture.height"
    case .skipped:
      """
      EXISTS (SELECT 1 FROM job CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
        CROSS JOIN ledger ON ledger.id = job.ledger AND ledger.state = 'skipped'
        WHERE job.asset = picture.asset)
      """
    case .withoutThumbnail: "picture.asset IN (\(raw: ThumbnailGapQuery.assets))"
    case .grouped:
      "EXISTS (SELECT 1 FROM member WHERE asset = picture.asset AND role <> 'orphan')"
    case .primary:
      """
      NOT EXISTS (SELECT 1 FROM member
        WHERE asset = picture.asset AND role NOT IN ('primary', 'orphan'))
      """
    case .burst: "\(raw: Schema.burst("1", of: "picture.asset")) IS NOT NULL"
    case .cover:
      """
      (NOT EXISTS (SELECT 1 FROM member
          WHERE asset = picture.asset AND role NOT IN ('primary', 'orphan'))
        AND NOT EXISTS (SELECT 1 FROM frame
          WHERE asset = picture.asset AND cover <> picture.asset))
      """
    case .orphan:
      "picture.asset IN (SELECT asset FROM member INDEXED BY member_orphan WHERE role = 'orphan')"
    case .damaged:
      """
      (picture.asset IN (\(raw: Self.assetsWithDamagedRenditions)) OR \(isListedAsDamaged))
      """
    }
  }

  private func state(_ state: JobState) -> SQLFragment {
    let (failed, running, due) = (
      Self.assets(withJobs: "'failed'"), Self.assets(withJobs: "'running'"),
      Self.assets(withJobs: "'ready', 'waiting'")
    )
    return switch state {
    case .trashed: "picture.trashed IS NOT NULL"
    case .failed: "(picture.trashed IS NULL AND picture.asset IN \(raw: failed))"
    case .processing:
      """
      (picture.trashed IS NULL AND picture.asset IN \(raw: running)
        AND picture.asset NOT IN \(raw: failed))
      """
    case .ready:
      """
      (picture.trashed IS NULL AND picture.asset IN \(raw: due)
        AND picture.asset NOT IN \(raw: failed) AND picture.asset NOT IN \(raw: running))
      """
    case .done:
      """
      (picture.trashed IS NULL AND picture.asset NOT IN \(raw: failed)
        AND picture.asset NOT IN \(raw: running) AND picture.asset NOT IN \(raw: due))
      """
    }
  }

  /// The assets with a job in one of some states: few, but for a first run.
  ///
  /// By way of all fingerprints: while a change of stages is under way, jobs have rows of former ones.
  private static func assets(withJobs states: String) -> String {
    """
    (SELECT job.asset FROM fingerprint CROSS JOIN ledger INDEXED BY ledger_claim
        ON ledger.fingerprint = fingerprint.id AND ledger.state IN (\(states))
      CROSS JOIN job ON job.ledger = ledger.id
      CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1)
    """
  }

  private static let assetsWithDamagedRenditions = """
    SELECT job.asset FROM rendition INDEXED BY rendition_damaged
      CROSS JOIN job ON job.ledger = rendition.ledger
      CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
      WHERE rendition.made_from = 'damaged'
    UNION ALL SELECT job.asset FROM rendition INDEXED BY rendition_damaged
      CROSS JOIN job ON job.previous_ledger = rendition.ledger
      CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
      WHERE rendition.made_from = 'damaged'
    """

  private var isListedAsDamaged: SQLFragment {
    if damaged.isEmpty { return "FALSE" }
    // One parameter, however many there are.
    let list = damaged.map { "\"\(Hexadecimal.encode($0.bytes).uppercased())\"" }
    return
      "hex(picture.asset) IN (SELECT value FROM json_each(\("[\(list.joined(separator: ","))]")))"
  }
}
