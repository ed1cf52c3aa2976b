import Catalog
import Manifest
package import PipelineModel
import Query
import Records

/// Records what users say about assets: in the manifest before the catalog.
package struct AssetAnnotations {
  private let library: IngestLibrary
  /// The number of assets in a transaction.
  private static let batch = 256

  package init(library: IngestLibrary) { self.library = library }

  /// Adds to what is said about assets; leaves out those of which it is said already, and those that are
  /// gone.
  ///
  /// What files say does not count: it may not be known yet, or no longer at some time.
  ///
  /// - Parameter isStopped: polled between transactions, each of which concerns whole assets.
  /// - Returns: the number of assets of which something new is said.
  package func add(
    _ annotations: [Annotation], to assets: [AssetID], isStopped: () -> Bool = { false }
  ) throws -> Int {
    // A request may come from another program.
    guard annotations.count <= Annotation.mostAtOnce else {
      throw QueryError(message: "These are more than \(Annotation.mostAtOnce) changes at once.")
    }
    let annotations = try annotations.map { annotation throws(QueryError) in
      try Annotation(
        checking: annotation.text, as: annotation.property, applies: annotation.applies)
    }
    var count = 0
    var rest = assets[...]
    while !rest.isEmpty, !isStopped() {
      let batch = Set(rest.prefix(Self.batch)).sorted()
      rest = rest.dropFirst(Self.batch)
      let news = try batch.compactMap { id in
        try library.reader.annotations(of: id).map { (id, annotations.news(to: $0)) }
      }
      let flat = news.flatMap { id, annotations in annotations.map { (id, $0) } }
      try library.record(flat.map { .annotated(asset: $0.0, $0.1) }, at: .now) { _ in
        flat.map { .annotated($0.0, $0.1) }
      }
      count += news.count { !$0.1.isEmpty }
    }
    return count
  }
}
