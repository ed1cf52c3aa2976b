import Catalog
import Foundation
import Ingest
public import PipelineModel

extension Library {
  /// Returns a picture of an asset: one that was made before, or a new one.
  ///
  /// The installed program makes it, in sandboxed workers, and keeps it in the library if that can be
  /// written. However many ask for the same one at once, it is made once.
  ///
  /// - Parameter acceptsStale: whether an outdated picture is better than waiting; default `false`.
  /// - Throws: `LibraryError` of code `noAsset`, `badRequest`, `noPicture`, `noProgram`, or `damaged` if the
  ///   original is missing or damaged. The program is ended if the task is cancelled.
  public func picture(
    of id: AssetID, _ request: PictureRequest, acceptsStale: Bool = false
  ) async throws(LibraryError) -> Picture {
    let library = try await run { library in
      guard try library.catalog.isTrashed(id) != nil else {
        throw LibraryError(.noAsset, "There is no asset \(id).")
      }
      return library.library.marker.library
    }
    return try await pictureProgram.picture(
      of: id, in: library, request, acceptsStale: acceptsStale)
  }

  /// Returns a picture of an asset at once, if an outdated one was made before, and then as it is now.
  ///
  /// - Returns: one picture; or two, the first of which is stale.
  public func pictures(
    of id: AssetID, _ request: PictureRequest
  ) -> AsyncThrowingStream<Picture, any Error> {
    let turn = StaleTurn()
    return AsyncThrowingStream { [self] in
      guard let acceptsStale = await turn.next() else { return nil }
      let picture = try await picture(of: id, request, acceptsStale: acceptsStale)
      if !picture.isStale { await turn.end() }
      return picture
    }
  }
}

/// Which pictures of a stream are still to come.
private actor StaleTurn {
  private var left = [true, false]

  /// Whether the next picture may be stale; `nil` behind the last.
  func next() -> Bool? { left.isEmpty ? nil : left.removeFirst() }

  func end() { left = [] }
}
