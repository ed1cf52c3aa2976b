/// Why an asset is kept without a thumbnail.
package struct ThumbnailGap: Hashable, Sendable {
  package enum Cause: String, CaseIterable, Hashable, Sendable {
    /// The plugin does not work on files of this type.
    case unsupported
    /// The stage's own `accepts` leaves files of this type out.
    case excluded
    /// The machine lacks something, such as a decoder, the plugin itself, or a store that is away.
    case unavailable
    /// The plugin found nothing to show in the file.
    case empty
    /// A stage that this one needs failed, skipped the file, or made no rendition for this one to work
    /// on.
    case blocked
    /// The job failed, permanently or for now.
    case failed

    /// A few words for people.
    package var words: String {
      switch self {
      case .unsupported: "kind not supported"
      case .excluded: "left out by “accepts”"
      case .unavailable: "software or a store not available"
      case .empty: "nothing to show"
      case .blocked: "needed stage gave nothing"
      case .failed: "failed"
      }
    }
  }

  package var cause: Cause
  /// The name of the stage that made none.
  package var stage: String
  /// The reason, as a sentence.
  package var reason: String

  package init(cause: Cause, stage: String, reason: String) {
    self.cause = cause
    self.stage = stage
    self.reason = reason
  }
}

/// How many assets are kept without a thumbnail, for `status`.
package struct ThumbnailGapCounts: Hashable, Sendable {
  package struct Group: Hashable, Sendable {
    package var cause: ThumbnailGap.Cause
    /// The media type of unsupported and excluded files, if it is known.
    package var mediaType: String?
    /// What is lacking, as a sentence, of the cause `unavailable`.
    package var reason: String?
    package var assets: Int

    package init(
      cause: ThumbnailGap.Cause, mediaType: String? = nil, reason: String? = nil, assets: Int
    ) {
      self.cause = cause
      self.mediaType = mediaType
      self.reason = reason
      self.assets = assets
    }
  }

  /// The largest first.
  package var groups: [Group] = []
  /// Whether there are more assets than were counted.
  package var isPartial = false

  package init(groups: [Group] = [], isPartial: Bool = false) {
    self.groups = groups
    self.isPartial = isPartial
  }

  package var assets: Int { groups.reduce(0) { $0 + $1.assets } }

  /// The number of assets by cause, the largest first.
  package var causes: [(cause: ThumbnailGap.Cause, assets: Int)] {
    ThumbnailGap.Cause.allCases.map { cause in
      (cause, groups.reduce(0) { $0 + ($1.cause == cause ? $1.assets : 0) })
    }.filter { $0.1 > 0 }.sorted { $0.1 > $1.1 }
  }
}
