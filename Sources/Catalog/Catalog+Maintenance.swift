extension Catalog {
  /// Takes the unreferenced rendition files off the list.
  ///
  /// - Returns: their paths below the library, for the caller to remove.
  package func consumeDiscardedFiles() throws(CatalogError) -> [String] {
    try write { (writer) throws(CatalogError) in try writer.consumeDiscardedFiles() }
  }
}
