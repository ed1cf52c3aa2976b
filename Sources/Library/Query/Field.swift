/// What a filter can ask about.
package enum Field: Hashable, Sendable {
  case text(TextField)
  case number(NumberField)
  case time(TimeField)

  /// All of them, in the order of their help.
  package static let all =
    TextField.allCases.map { Field.text($0) } + NumberField.allCases.map { .number($0) }
    + TimeField.allCases.map { .time($0) }

  /// Whether its values come from a stage with the plugin `metadata`, or may do so.
  package var isMetadata: Bool {
    switch self {
    case .text(.camera), .text(.lens), .text(.title), .text(.caption), .text(.tag): true
    case .text, .time, .number(.size), .number(.width), .number(.height): false
    case .number: true
    }
  }

  /// Its name in a query.
  package var name: String {
    switch self {
    case .text(let field): field.rawValue
    case .number(let field): field.rawValue
    case .time(let field): field.rawValue
    }
  }

  /// What it is, for help.
  package var summary: String {
    switch self {
    case .text(let field): field.summary
    case .number(let field): field.summary
    case .time(let field): field.summary
    }
  }

  /// The field with a name; `nil` if there is none.
  package static func named(_ name: String) -> Field? { byName[name] }

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}

/// A field whose values are texts.
package enum TextField: String, CaseIterable, Hashable, Sendable {
  case name, path, source, type, kind, state, camera, lens, title, caption, tag, album, group, role
  case digest, id

  /// Whether an asset may have several values.
  package var isList: Bool { self == .tag || self == .album }

  var summary: String {
    switch self {
    case .name: "the file's name when it was imported"
    case .path: "its path below the source"
    case .source: "the folder that it was imported from"
    case .type: "the media type, such as image/jpeg; also a kind"
    case .kind: "image, raw, video, audio, document or other"
    case .state: "ready, processing, done, failed or trashed"
    case .camera: "maker and model"
    case .lens: "the lens"
    case .title: "title or headline"
    case .caption: "caption or description"
    case .tag: "a keyword in the file, or from the verb tag"
    case .album: "an album, from the verb tag"
    case .group: "what joins it to others: rawAndJPEG, livePhoto, sidecar, burst"
    case .role: "its place there: primary, picture, raw, movie or sidecar; or orphan"
    case .digest: "the SHA-256 of the bytes, in hexadecimal"
    case .id: "the asset's UUID"
    }
  }
}

/// A field whose values are numbers.
package enum NumberField: String, CaseIterable, Hashable, Sendable {
  case size, width, height, iso, aperture, exposure, focal, rating, latitude, longitude

  var summary: String {
    switch self {
    case .size: "bytes, also as 500kB, 20MB, 1GiB"
    case .width: "pixels, as displayed"
    case .height: "pixels, as displayed"
    case .iso: "sensitivity"
    case .aperture: "f-number, such as 2.8"
    case .exposure: "seconds, also as 1/250"
    case .focal: "focal length in millimetres"
    case .rating: "stars, -1 for rejected"
    case .latitude: "degrees, south negative"
    case .longitude: "degrees, west negative"
    }
  }
}

/// A field whose values are times.
package enum TimeField: String, CaseIterable, Hashable, Sendable {
  case taken, imported, modified, trashed

  var summary: String {
    switch self {
    case .taken: "when it was taken, by the clock on the spot as far as that is known"
    case .imported: "when it was imported"
    case .modified: "when the file was last changed before the import"
    case .trashed: "when it was put into the trash"
    }
  }

  /// Whether its values are what a clock on the spot showed, rather than points in time.
  package var isWallClock: Bool { self == .taken }
}

/// A property that an asset has or lacks.
package enum Flag: String, CaseIterable, Hashable, Sendable {
  case ready, processing, done, failed, trashed, damaged, skipped, landscape, portrait, square
  case grouped, primary, orphan, burst, cover
  case withoutThumbnail = "no-thumbnail"

  package var summary: String {
    switch self {
    case .ready: "jobs wait"
    case .processing: "a job is running"
    case .done: "all jobs are done"
    case .failed: "a job failed"
    case .trashed: "in the trash"
    case .damaged: "damaged, as far as is known"
    case .skipped: "a stage does not work on such files"
    case .landscape: "wider than high"
    case .portrait: "higher than wide"
    case .square: "as wide as high"
    case .grouped: "belongs to others: raw and JPEG, Live Photo, sidecar"
    case .primary: "the first of its group, or in none"
    case .orphan: "a sidecar without a picture"
    case .burst: "of a burst"
    case .cover: "the first of its group, and what stands for its burst, or in none"
    case .withoutThumbnail: "kept without a thumbnail: not supported, not available, or failed"
    }
  }
}
