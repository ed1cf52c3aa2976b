import Catalog
import LibrarySession
import PipelineModel
import Query

/// What the operands of a verb that changes assets mean.
enum NamedAssets {
  /// The user wrote IDs, or parts of IDs.
  case ids([AssetID])
  /// The user described assets by a query.
  case found([AssetID])

  var ids: [AssetID] {
    switch self {
    case .ids(let ids), .found(let ids): ids
    }
  }
}

extension Context {
  /// The assets that the operands name: by IDs if each operand could be a part of one, otherwise
  /// by a query.
  ///
  /// - Parameter isWanted: a condition in addition to a query's; IDs are returned whatever it says.
  func namedAssets(where isWanted: Filter = .everything) throws -> NamedAssets {
    if arguments.operands.allSatisfy(\.isPartOfID) {
      return .ids(
        try reading { session in try arguments.operands.map { try session.asset($0).id } })
    }
    var search = try assetSearch()
    search.filter = .all([search.filter, isWanted])
    return .found(
      try reading { session in
        var ids: [AssetID] = []
        try search.run(in: session.catalog, damage: session.damage(), need: .keys) { id, _ in
          ids.append(id)
        }
        explain(found: ids.count, by: search, in: session)
        return ids
      })
  }

  /// Performs a request for each part of a list of assets, so that none is too long to send.
  ///
  /// - Returns: how many things all requests together changed.
  func perform(
    for assets: [AssetID], counting name: String, _ request: ([AssetID]) -> LibraryRequest
  ) throws -> Int {
    let most = 1000
    var count = 0
    for start in stride(from: 0, to: assets.count, by: most) {
      let part = Array(assets[start..<min(start + most, assets.count)])
      count += try perform(request(part)).count(name)
    }
    return count
  }
}

extension BytePath {
  /// Whether it may be a UUID, or the beginning or end of one.
  fileprivate var isPartOfID: Bool {
    !isEmpty && description.allSatisfy { $0.isHexDigit || $0 == "-" } && bytes.first != 0x2D
  }
}
