import Ingest
public import PipelineModel
import Query

/// What `Library.perform` is to do: steps that are done in order, all of them or none.
///
/// Steps only write down what to do. A question is asked of the library as it is before the first step.
public struct LibraryEdit: Sendable {
  /// A step, before the library is asked which assets it concerns.
  struct Step: Sendable {
    var action: AssetEdit.Action
    var assets: SelectedAssets
  }

  private(set) var steps: [Step] = []

  /// Gives assets tags, or takes tags away.
  ///
  /// - Throws: `LibraryError` of code `notAnEdit` for a text that can't be a tag.
  public mutating func tag(
    _ assets: some AssetSelection, add: [String] = [], remove: [String] = []
  ) throws(LibraryError) {
    try annotate(assets, .tag, add, applies: true)
    try annotate(assets, .tag, remove, applies: false)
  }

  /// Puts assets into albums, which come to be by that, or takes them out.
  ///
  /// - Throws: `LibraryError` of code `notAnEdit` for a text that can't be the name of an album.
  public mutating func album(
    _ assets: some AssetSelection, add: [String] = [], remove: [String] = []
  ) throws(LibraryError) {
    try annotate(assets, .album, add, applies: true)
    try annotate(assets, .album, remove, applies: false)
  }

  /// Gives assets a rating: 1 to 5 stars, 0 for none, -1 for rejected; `nil` takes it away, whatever
  /// the file says.
  ///
  /// - Throws: `LibraryError` of code `notAnEdit` for another number.
  public mutating func rate(
    _ assets: some AssetSelection, _ stars: Int?
  ) throws(LibraryError) {
    try set(assets, .rating, stars.map { "\($0)" })
  }

  /// Gives assets a title of one line; `nil` takes it away, whatever the file says.
  ///
  /// - Throws: `LibraryError` of code `notAnEdit` for a text that can't be a title.
  public mutating func title(
    _ assets: some AssetSelection, _ text: String?
  ) throws(LibraryError) {
    try set(assets, .title, text)
  }

  /// Gives assets a caption; `nil` takes it away, whatever the file says.
  ///
  /// - Throws: `LibraryError` of code `notAnEdit` for a text that can't be a caption.
  public mutating func caption(
    _ assets: some AssetSelection, _ text: String?
  ) throws(LibraryError) {
    try set(assets, .caption, text)
  }

  /// Puts assets into the trash.
  public mutating func trash(_ assets: some AssetSelection) {
    steps.append(Step(action: .trash, assets: assets.selectedAssets))
  }

  /// Brings assets back from the trash.
  public mutating func restore(_ assets: some AssetSelection) {
    steps.append(Step(action: .restore, assets: assets.selectedAssets))
  }

  /// Makes the failed jobs of assets ready again; the process that runs stages does them.
  public mutating func retry(_ assets: some AssetSelection) {
    steps.append(Step(action: .retry, assets: assets.selectedAssets))
  }

  private mutating func set(
    _ assets: some AssetSelection, _ property: Annotation.Property, _ text: String?
  ) throws(LibraryError) {
    try annotate(assets, property, [text ?? ""], applies: text != nil)
  }

  private mutating func annotate(
    _ assets: some AssetSelection, _ property: Annotation.Property, _ texts: [String], applies: Bool
  ) throws(LibraryError) {
    guard !texts.isEmpty else { return }
    guard texts.count <= Annotation.mostAtOnce else {
      throw LibraryError(
        .notAnEdit, "These are more than \(Annotation.mostAtOnce) texts in one step.")
    }
    var annotations: [Annotation] = []
    for text in texts {
      do throws(QueryError) {
        annotations.append(try Annotation(checking: text, as: property, applies: applies))
      } catch {
        throw LibraryError(.notAnEdit, error.message)
      }
    }
    steps.append(Step(action: .annotate(annotations), assets: assets.selectedAssets))
  }
}

/// Assets to change: a key, keys, or what a question finds.
///
/// A key that no asset has is an error of the whole transaction. What a question found and another process
/// deletes at that moment is left out.
public protocol AssetSelection: Sendable {
  /// Which assets they are.
  var selectedAssets: SelectedAssets { get }
}

/// Which assets a selection is.
public enum SelectedAssets: Sendable {
  case keys([AssetID])
  /// Those that a question finds, with its limit and its start.
  case found(Fetch)
}

extension AssetID: AssetSelection {
  public var selectedAssets: SelectedAssets { .keys([self]) }
}

extension Array: AssetSelection where Element == AssetID {
  public var selectedAssets: SelectedAssets { .keys(self) }
}

extension Set: AssetSelection where Element == AssetID {
  public var selectedAssets: SelectedAssets { .keys(sorted()) }
}

extension Fetch: AssetSelection {
  public var selectedAssets: SelectedAssets { .found(self) }
}
