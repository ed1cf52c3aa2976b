import Glibc
package import PipelineModel

/// All assets of a search in little room: what a page needs to lay out any number of pictures.
package struct AssetOutline: Sendable {
  /// How many assets lie between two keys.
  package static let stride = 512

  package private(set) var count = 0
  /// A byte for each asset: its width divided by its height is 2^((byte - 128) / 32); 0 if unknown.
  package private(set) var aspects: [UInt8] = []
  /// The keys of every 512th asset, beginning with the first.
  package private(set) var keys: [AssetID] = []
  /// Runs of assets taken on the same day, counted from 1970-01-01; `nil` for those without a time.
  package private(set) var days: [(day: Int64?, count: Int)] = []
  /// Whether to keep days: assets that are not in the order of time would have too many runs.
  private let keepsDays: Bool

  /// - Parameter keepsDays: whether the assets come in the order of the time when they were taken.
  package init(keepsDays: Bool) { self.keepsDays = keepsDays }

  /// - Parameters:
  ///   - taken: microseconds since 1970, by the clock on the spot.
  ///   - id: returns the asset's key; called for every 512th.
  package mutating func append(
    width: Double?, height: Double?, taken: Int64?, id: () throws(CatalogError) -> AssetID
  ) throws(CatalogError) {
    if count % Self.stride == 0 { keys.append(try id()) }
    count += 1
    aspects.append(Self.aspect(width, height))
    let day = keepsDays ? taken.map { Self.day(of: $0) } : nil
    if let last = days.indices.last, days[last].day == day {
      days[last].count += 1
    } else {
      days.append((day, 1))
    }
  }

  private static func day(of microseconds: Int64) -> Int64 {
    let length: Int64 = 86_400_000_000
    return microseconds / length - (microseconds % length < 0 ? 1 : 0)
  }

  /// The byte for a picture's proportions.
  package static func aspect(_ width: Double?, _ height: Double?) -> UInt8 {
    guard let width, let height, width > 0, height > 0 else { return 0 }
    let steps = (log2(width / height) * 32).rounded()
    guard steps.isFinite else { return 0 }
    return UInt8(min(max(steps + 128, 1), 255))
  }
}
