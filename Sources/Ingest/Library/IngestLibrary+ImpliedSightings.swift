import Catalog

extension IngestLibrary {
  /// The number of rows examined in a transaction.
  private static let rowsAtOnce = 4096

  /// Removes some rows that an older version kept for moved files, in one short transaction.
  ///
  /// - Returns: whether more rows are left to examine.
  func removeImpliedSightings() throws(IngestError) -> Bool {
    guard mayHaveImpliedSightings else { return false }
    mayHaveImpliedSightings = try translating {
      try catalog.removeImpliedSightings(among: Self.rowsAtOnce)
    }
    return mayHaveImpliedSightings
  }
}
