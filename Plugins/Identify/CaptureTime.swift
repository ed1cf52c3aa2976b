import Containers

/// When a picture or film was taken, by the camera's clock.
struct CaptureTime {
  /// RFC 3339; without an offset if the zone is unknown, and a date alone if the time is.
  let text: String
  /// The source: `exif:DateTimeOriginal`, `xmp:photoshop:DateCreated`, `png:tIME`, `name`.
  let source: String

  /// Uses the first source with date and time, or otherwise the first with a date.
  ///
  /// `docs/metadata.md` specifies the order: cameras' fields before programs', and “taken” before
  /// “created”.
  ///
  /// - Parameter name: the date in the file's name, if that is configured.
  init?(_ embedded: EmbeddedMetadata, _ exif: ExifBlock?, name: String? = nil) {
    var dated: (text: String, source: String)?
    for candidate in Self.candidates(embedded, exif, name) {
      guard
        let moment = WrittenMoment(
          candidate.text, fraction: candidate.fraction, offset: candidate.offset)
      else { continue }
      guard !moment.hasTime else {
        (text, source) = (moment.text, candidate.source)
        return
      }
      dated = dated ?? (moment.text, candidate.source)
    }
    guard let dated else { return nil }
    (text, source) = dated
  }

  private struct Candidate {
    var source: String
    var text: String
    var fraction: String?
    var offset: String?
  }

  private static func candidates(
    _ embedded: EmbeddedMetadata, _ exif: ExifBlock?, _ name: String?
  ) -> [Candidate] {
    var all: [Candidate] = []
    func add(_ source: String, _ moment: ExifBlock.Moment?) {
      guard let moment else { return }
      all.append(
        Candidate(
          source: source, text: moment.text, fraction: moment.fraction, offset: moment.offset))
    }
    add("exif:DateTimeOriginal", exif?.original)
    add("exif:DateTimeDigitized", exif?.digitized)
    let xmp = embedded.xmp.map { XMPPacket($0).properties } ?? [:]
    for property in [
      "exif:DateTimeOriginal", "photoshop:DateCreated", "exif:DateTimeDigitized", "xmp:CreateDate",
    ] {
      if let text = xmp[property] { all.append(Candidate(source: "xmp:\(property)", text: text)) }
    }
    let iptc = embedded.iptc.map { IPTCDates($0) }
    if let text = iptc?.created { all.append(Candidate(source: "iptc:DateCreated", text: text)) }
    if let text = iptc?.digitized {
      all.append(Candidate(source: "iptc:DigitizationDate", text: text))
    }
    all += embedded.moments.map { Candidate(source: $0.name, text: $0.text) }
    if let text = exif?.satellites { all.append(Candidate(source: "gps:GPSDateStamp", text: text)) }
    if let name { all.append(Candidate(source: "name", text: name)) }
    return all
  }
}
