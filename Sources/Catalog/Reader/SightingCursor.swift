/// The sightings of a source in the byte order of their paths, one at a time.
package final class SightingCursor {
  init() {}
  package func next() throws(CatalogError) -> Sighting? { throw Catalog.unready }
}
