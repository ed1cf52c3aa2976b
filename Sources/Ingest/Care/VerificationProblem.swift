package import PipelineModel

/// Something that is not as it should be in a library.
package struct VerificationProblem: Hashable, Codable, Sendable {
  package enum Kind: String, Hashable, Codable, Sendable {
    /// A record's original is not there.
    case originalMissing = "original-missing"
    /// An original's bytes, read twice, don't hash to its name, or can't be read.
    case originalDamaged = "original-damaged"
    /// An original that no record refers to.
    case originalUnrecorded = "original-unrecorded"
    /// A file in `originals/` that is no original.
    case foreignFile = "foreign-file"
    /// A rendition's bytes are not there.
    case renditionMissing = "rendition-missing"
    /// A rendition's bytes don't hash to what was recorded, or can't be read.
    case renditionDamaged = "rendition-damaged"
    /// The manifest has an asset that the catalog lacks, or the other way round.
    case catalogDiffers = "catalog-differs"
    /// A file in `incoming/` while nobody works on the library.
    case incomingLeftover = "incoming-leftover"
    /// A file or folder in `work/` while nobody works on the library.
    case workLeftover = "work-leftover"
    /// A file in `renditions/` that no record names, while nobody works on the library.
    case renditionUnrecorded = "rendition-unrecorded"
    /// A file or folder of the library that can't be looked at.
    case unreadable

    /// Whether `Repair` can do something about it.
    package var isRepairable: Bool {
      switch self {
      case .originalDamaged, .renditionMissing, .renditionDamaged, .incomingLeftover, .workLeftover,
        .renditionUnrecorded, .originalUnrecorded:
        true
      case .originalMissing, .foreignFile, .catalogDiffers, .unreadable: false
      }
    }
  }

  package var kind: Kind
  package var digest: Digest?
  package var path: BytePath?
  /// A sentence for people.
  package var message: String
  /// The key of the rendition that it is about.
  package var rendition: Int64?
  /// Assets that it concerns, as far as they are known: a hundred at most.
  package var assets: [AssetID] = []
}
