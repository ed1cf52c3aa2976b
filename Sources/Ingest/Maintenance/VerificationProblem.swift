package import PipelineModel

/// Something wrong in a library.
package struct VerificationProblem: Hashable, Codable, Sendable {
  package enum Kind: String, Hashable, Codable, Sendable {
    /// A recorded original is missing.
    case originalMissing = "original-missing"
    /// An original's bytes, read twice, don't hash to its name, or can't be read.
    case originalDamaged = "original-damaged"
    /// An original that no record refers to.
    case originalUnrecorded = "original-unrecorded"
    /// A file in `originals/` that is not an original.
    case foreignFile = "foreign-file"
    /// A rendition's bytes are missing.
    case renditionMissing = "rendition-missing"
    /// A rendition's bytes don't hash to the recorded digest, or can't be read.
    case renditionDamaged = "rendition-damaged"
    /// The manifest has an asset that the catalog lacks, or vice versa.
    case catalogDiffers = "catalog-differs"
    /// A file in `incoming/` while no process works on the library.
    case incomingLeftover = "incoming-leftover"
    /// A file or folder in `work/` while no process works on the library.
    case workLeftover = "work-leftover"
    /// A file in `renditions/` without a record, while no process works on the library.
    case renditionUnrecorded = "rendition-unrecorded"
    /// A file or folder of the library that can't be examined.
    case unreadable

    /// Whether `Repair` can help.
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
  /// The key of the rendition concerned.
  package var rendition: Int64?
  /// The assets concerned, if known; at most 100.
  package var assets: [AssetID] = []
}
