import Catalog
import LibraryControl
import LibrarySession
import PipelineModel
import Query
import Records

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
  /// The assets that the operands name: by IDs if each operand is a plain word, otherwise by a
  /// query. Words without a field are refused: a mistyped ID must not be looked for in titles.
  ///
  /// - Parameters:
  ///   - operands: those that name assets; all by default.
  ///   - isWanted: a condition in addition to a query's; IDs are returned whatever it says.
  func namedAssets(
    _ operands: ArraySlice<BytePath>? = nil, where isWanted: Filter = .everything
  ) throws -> NamedAssets {
    let operands = operands ?? arguments.operands[...]
    if operands.allSatisfy(\.isPlainWord) {
      return .ids(
        try reading { session in try operands.map { try session.asset($0).id } })
    }
    var search = try assetSearch(operands)
    guard !search.filter.asksForWords else {
      throw UsageError(
        "Words without a field could be IDs, so here they are no part of a query; write for example "
          + "name:word.", verb: arguments.verb)
    }
    guard search.filter != .everything else {
      throw UsageError("The query is empty; say which assets you mean.", verb: arguments.verb)
    }
    search.filter = .all([search.filter, isWanted])
    return .found(
      try reading { session in
        var ids: [AssetID] = []
        try search.run(
          in: session.catalog, damaged: session.damagedAssets(for: search.filter), need: .keys
        ) {
          id, _ in
          ids.append(id)
        }
        explain(found: ids.count, by: search, in: session)
        return ids
      })
  }

  /// Performs a request for each part of a list of assets, so that none is too long to send, until a
  /// signal.
  ///
  /// - Returns: how many things all requests together changed.
  func perform(
    for assets: [AssetID], counting name: String, _ request: ([AssetID]) -> LibraryRequest
  ) throws -> Int {
    let most = 1000
    var count = 0
    for start in stride(from: 0, to: assets.count, by: most) {
      if SignalHandler.shared.isStopRequested { break }
      let part = Array(assets[start..<min(start + most, assets.count)])
      count += try perform(request(part)).count(name)
    }
    return count
  }
}

extension BytePath {
  /// Whether it is an ID, mistyped or not, rather than a part of a query.
  fileprivate var isPlainWord: Bool {
    !isEmpty && bytes.first != UInt8(ascii: "-")
      && description.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
  }
}
