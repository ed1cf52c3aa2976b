extension Schema {
  /// Version 2: the view `metadata`. No table changes; views are made anew with every migration.
  static let version2 = "SELECT 1"
}
