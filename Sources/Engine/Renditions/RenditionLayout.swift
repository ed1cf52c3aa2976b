package import PipelineModel

/// The paths of renditions that are stored as files.
///
/// `renditions/<stage>/ab/<owner>.<fingerprint>.<name>.<extension>`: the owner is the original's
/// digest or, for stages of scope `asset`, the asset's key without dashes; the fingerprint is cut
/// to sixteen digits.
package enum RenditionLayout {
  /// The folder, relative to the library.
  package static func folder(stage: String, owner: String) -> BytePath {
    BytePath("renditions/\(stage)/\(owner.prefix(2))")
  }

  /// The file name.
  package static func name(
    owner: String, fingerprint: Fingerprint, rendition: String, mediaType: String
  ) -> BytePath {
    BytePath("\(owner).\(fingerprint.short).\(rendition).\(suffix(of: mediaType))")
  }

  /// The file name extension of a media type: its subtype, or the usual short form.
  package static func suffix(of mediaType: String) -> String {
    switch mediaType {
    case "image/jpeg": "jpg"
    case "image/svg+xml": "svg"
    case "text/plain": "txt"
    default:
      String(
        (mediaType.split(separator: "/").last ?? "bin").filter {
          $0.isASCII && ($0.isLetter || $0.isNumber)
        }.prefix(16))
    }
  }
}
