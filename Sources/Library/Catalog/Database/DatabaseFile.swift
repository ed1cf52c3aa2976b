import Records

/// Which of a library's databases a file is, for its errors.
enum DatabaseFile {
  case catalog, renditions

  var name: String {
    switch self {
    case .catalog: "The catalog"
    case .renditions: "The database of renditions"
    }
  }

  var kind: String {
    switch self {
    case .catalog: "a catalog"
    case .renditions: "a database"
    }
  }

  /// What to do about a missing file.
  var absenceAdvice: String {
    switch self {
    case .catalog: "If it was moved, set \"catalog\" in pipeline.json. \(advice)"
    case .renditions: advice
    }
  }

  /// What to do about a damaged or missing file.
  var advice: String {
    switch self {
    case .catalog: CatalogError.advice
    case .renditions:
      "“pipeline run” moves a damaged one aside, and “pipeline verify --repair” makes the renditions "
        + "again."
    }
  }
}
