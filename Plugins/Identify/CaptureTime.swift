import Containers

/// The moment when a picture or a film was taken, as the camera's clock had it.
struct CaptureTime {
  /// RFC 3339; without an offset where the zone is unknown, a date alone where the time is.
  let text: String
  /// What says so: `exif:DateTimeOriginal`, `xmp:photoshop:DateCreated`, `png:tIME`, `name`.
  let source: String

  /// Takes the first source that has a date and a time, or else the first that has a date.
  ///
  /// The order is that of `docs/metadata.md`: what cameras write before what programs write,
  /// and what says “taken” before what says “made”.
  ///
  /// - Parameter name: what the name of the file says, where it is asked.
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
