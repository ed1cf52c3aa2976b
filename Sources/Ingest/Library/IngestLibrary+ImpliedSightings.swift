import Catalog

extension IngestLibrary {
  /// How many rows one transaction looks at.
  private static let rowsAtOnce = 4096

  /// Removes some of the rows that an older version kept of moved files, in one short transaction.
  ///
  /// - Returns: whether there is more to look at.
  func removeImpliedSightings() throws(IngestError) -> Bool {
    guard mayHaveImpliedSightings else { return false }
    mayHaveImpliedSightings = try translating {
      try catalog.removeImpliedSightings(among: Self.rowsAtOnce)
    }
    return mayHaveImpliedSightings
  }
}
