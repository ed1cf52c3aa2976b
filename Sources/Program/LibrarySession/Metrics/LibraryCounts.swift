package import Catalog
import Records

/// What is counted in a library's catalog for metrics.
package struct LibraryCounts: Sendable {
  let status: StatusCounts
  let metrics: MetricCounts

  /// Counts everything in one snapshot; takes time for each job that is not done.
  package init(of catalog: CatalogReader) throws {
    (status, metrics) = try catalog.snapshot { (try catalog.status(), try catalog.metricCounts()) }
  }
}
