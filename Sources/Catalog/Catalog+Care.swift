extension Catalog {
  /// Returns files of renditions that nothing refers to any more, as paths below
  /// the library, and takes them off the list: they are the caller's to remove.
  package func takeDiscardedFiles() throws(CatalogError) -> [String] {
    try write { (writer) throws(CatalogError) in try writer.takeDiscardedFiles() }
  }
}
