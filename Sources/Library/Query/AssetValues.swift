package import PipelineModel

/// What a filter and an order can ask of an asset.
package struct AssetValues: Sendable {
  package var texts: [TextField: [String]] = [:]
  package var numbers: [NumberField: Double] = [:]
  package var times: [TimeField: Int64] = [:]
  package var flags: Set<Flag> = []
  /// When it was taken as it was read, without a zone: a date alone has no time.
  package var takenText: String?
  /// What a Live Photo's picture and film have in common.
  package var contentIdentifier: String?
  /// What the pictures of a burst have in common.
  package var burstIdentifier: String?
  /// Whether the camera chose this picture to stand for its burst.
  package var isBurstPrimary = false
  /// The bytes of names and paths that are not UTF-8.
  package var rawPaths: [TextField: BytePath] = [:]

  package init() {}

  package func has(_ field: Field) -> Bool {
    switch field {
    case .text(let field): texts[field]?.isEmpty == false
    case .number(let field): numbers[field].map { !$0.isNaN } ?? false
    case .time(let field): times[field] != nil
    }
  }

  // MARK: From facts

  /// Adds the facts of a stage with the plugin `identify`.
  package mutating func add(identity facts: JSONValue) {
    if let type = facts["mediaType"]?.string {
      texts[.type] = [type]
      texts[.kind] = [AssetKind(mediaType: type).rawValue]
    }
    let (width, height) = (facts["width"]?.double, facts["height"]?.double)
    numbers[.width] = width
    numbers[.height] = height
    if let width, let height {
      flags.insert(width > height ? .landscape : width < height ? .portrait : .square)
    }
    if let taken = facts["capturedAt"]?.string, let time = CalendarTime.wallClock(taken) {
      times[.taken] = time
      takenText = String(taken.prefix(10) + taken.dropFirst(10).prefix { !"Z+-".contains($0) })
    }
  }

  /// Adds the facts of a stage with the plugin `metadata`.
  package mutating func add(metadata facts: JSONValue) {
    contentIdentifier = facts["contentIdentifier"]?.string
    let (exif, iptc, xmp, gps) = (facts["exif"], facts["iptc"], facts["xmp"], facts["gps"])
    // Source: Google's namespace http://ns.google.com/photos/1.0/camera/ as phones write it.
    burstIdentifier =
      facts["burstIdentifier"]?.string
      ?? Self.text(xmp?["GCamera:BurstID"]).flatMap { $0.utf8.count <= 100 ? $0 : nil }
    isBurstPrimary = Self.text(xmp?["GCamera:BurstPrimary"]) == "1"
    texts[.camera] = Self.camera(
      maker: Self.text(exif?["Make"] ?? xmp?["tiff:Make"]),
      model: Self.text(exif?["Model"] ?? xmp?["tiff:Model"])
    ).map { [$0] }
    texts[.lens] = Self.first(exif?["LensModel"], xmp?["aux:Lens"], xmp?["exifEX:LensModel"])
    texts[.title] = Self.first(xmp?["dc:title"], iptc?["ObjectName"], iptc?["Headline"])
    texts[.caption] = Self.first(
      xmp?["dc:description"], iptc?["Caption"], exif?["ImageDescription"])
    set(tags: Self.texts(xmp?["dc:subject"]) + Self.texts(iptc?["Keywords"]) + Self.leaves(xmp))
    numbers[.iso] = Self.number(exif?["ISOSpeedRatings"] ?? exif?["PhotographicSensitivity"])
    numbers[.aperture] = Self.number(exif?["FNumber"])
    numbers[.exposure] = Self.number(exif?["ExposureTime"])
    numbers[.focal] = Self.number(exif?["FocalLength"])
    numbers[.rating] = Self.number(xmp?["xmp:Rating"])
    let place = (Self.number(gps?["latitude"]), Self.number(gps?["longitude"]))
    if let latitude = place.0, let longitude = place.1, abs(latitude) <= 90, abs(longitude) <= 180 {
      (numbers[.latitude], numbers[.longitude]) = place
    }
  }

  /// Adds the metadata of a sidecar: what it says replaces what the file says.
  package mutating func add(sidecar facts: JSONValue) {
    let xmp = facts["xmp"]
    texts[.title] = Self.first(xmp?["dc:title"]) ?? texts[.title]
    texts[.caption] = Self.first(xmp?["dc:description"]) ?? texts[.caption]
    set(tags: Self.texts(xmp?["dc:subject"]) + Self.leaves(xmp))
    numbers[.rating] = Self.number(xmp?["xmp:Rating"]) ?? numbers[.rating]
  }

  /// - Parameter tags: with repetitions; none leave those that are there.
  private mutating func set(tags: [String]) {
    var seen: Set<String> = []
    if !tags.isEmpty { texts[.tag] = tags.filter { seen.insert($0).inserted } }
  }

  /// The last parts of keywords in a hierarchy, as Lightroom writes them: `Munich` of
  /// `Places|Germany|Munich`.
  private static func leaves(_ xmp: JSONValue?) -> [String] {
    texts(xmp?["lr:hierarchicalSubject"]).compactMap { keyword in
      keyword.split(separator: "|").last.map(String.init)
    }
  }

  // MARK: From its group

  /// Adds an asset's place among files that belong together.
  ///
  /// - Parameters:
  ///   - role: `nil` if it belongs to none; `orphan` for a sidecar without a picture.
  ///   - kinds: what joins them; empty for an orphan.
  ///   - isCover: whether it stands for the burst that its shot is of; `nil` if that is of none.
  package mutating func add(role: String?, kinds: String, isCover: Bool? = nil) {
    texts[.role] = role.map { [$0] }
    let all = [kinds, isCover == nil ? "" : "burst"].filter { !$0.isEmpty }
    if !all.isEmpty { texts[.group] = [all.joined(separator: ", ")] }
    if isCover != nil { flags.insert(.burst) }
    if isCover ?? true, [nil, "primary", "orphan"].contains(role) { flags.insert(.cover) }
    switch role {
    case nil: flags.insert(.primary)
    case "orphan": flags.formUnion([.orphan, .primary])
    case "primary": flags.formUnion([.grouped, .primary])
    default: flags.insert(.grouped)
    }
  }

  // MARK: From the user

  /// Adds what a user says, which takes precedence over facts.
  package mutating func add(_ annotations: [Annotation]) {
    for annotation in annotations {
      switch annotation.property {
      case .tag: add(annotation, to: .tag)
      case .album: add(annotation, to: .album)
      case .title: texts[.title] = annotation.applies ? [annotation.text] : nil
      case .caption: texts[.caption] = annotation.applies ? [annotation.text] : nil
      case .rating: numbers[.rating] = annotation.applies ? Double(annotation.text) : nil
      }
    }
  }

  private mutating func add(_ annotation: Annotation, to list: TextField) {
    var values = texts[list] ?? []
    if !annotation.applies {
      // Swift takes texts for equal that differ in how characters are composed.
      values.removeAll { $0 == annotation.text }
    } else if !values.contains(annotation.text) {
      values.append(annotation.text)
    }
    texts[list] = values.isEmpty ? nil : values
  }

  // MARK: Facts

  /// Maker and model in one text; many models begin with the maker's name.
  static func camera(maker: String?, model: String?) -> String? {
    guard let maker, let model else { return maker ?? model }
    // `NIKON CORPORATION` makes the `NIKON D850`.
    let first = TextFolding.words(TextFolding.fold(maker)).first
    let isNamed = first == TextFolding.words(TextFolding.fold(model)).first
    return isNamed ? model : "\(maker) \(model)"
  }

  private static func first(_ values: JSONValue?...) -> [String]? {
    values.lazy.compactMap { text($0) }.first.map { [$0] }
  }

  private static func text(_ value: JSONValue?) -> String? { texts(value).first }

  /// The texts of a value: one, a list, or one in several languages, the default one first.
  private static func texts(_ value: JSONValue?) -> [String] {
    let texts: [String] =
      switch value {
      case .string(let text)?: [text]
      case .array(let values)?: values.compactMap(\.string)
      case .object(let languages)?:
        [languages["x-default"]?.string].compactMap(\.self)
          + languages.filter { $0.key != "x-default" }.sorted { $0.key < $1.key }
          .compactMap(\.value.string)
      default: []
      }
    return texts.filter { !$0.isEmpty }
  }

  /// The first number of a value.
  private static func number(_ value: JSONValue?) -> Double? {
    value?.double ?? value?.array?.first?.double
  }
}

/// A kind of file, by its media type.
package enum AssetKind: String, CaseIterable, Sendable {
  case image, raw, video, audio, document, other

  package init(mediaType: String) {
    let parts = mediaType.split(separator: "/", maxSplits: 1)
    let subtype = parts.count == 2 ? parts[1] : ""
    switch parts.first {
    case "image"?: self = Self.rawSubtypes.contains(String(subtype)) ? .raw : .image
    case "video"?: self = .video
    case "audio"?: self = .audio
    case "text"?: self = .document
    case "application"? where Self.documentSubtypes.contains(String(subtype)): self = .document
    default: self = .other
    }
  }

  /// Cameras' own formats. Source: shared-mime-info, subclasses of `image/x-dcraw`.
  private static let rawSubtypes: Set<String> = [
    "x-raw", "x-dcraw", "x-adobe-dng", "x-canon-cr2", "x-canon-cr3", "x-canon-crw", "x-epson-erf",
    "x-fuji-raf", "x-hasselblad-3fr", "x-kodak-dcr", "x-kodak-k25", "x-kodak-kdc", "x-leaf-mos",
    "x-mamiya-mef", "x-minolta-mrw", "x-nikon-nef", "x-nikon-nrw", "x-olympus-orf",
    "x-panasonic-rw", "x-panasonic-rw2", "x-pentax-pef", "x-phaseone-iiq", "x-samsung-srw",
    "x-sigma-x3f", "x-sony-arw", "x-sony-sr2", "x-sony-srf",
  ]

  private static let documentSubtypes: Set<String> = [
    "pdf", "postscript", "msword", "rtf", "epub+zip", "vnd.oasis.opendocument.text",
    "vnd.openxmlformats-officedocument.wordprocessingml.document",
  ]
}

// MARK: - Texts of values

extension AssetValues {
  /// The value of a field as text, several joined by commas; `nil` if there is none.
  package func text(of field: Field) -> String? {
    switch field {
    case .text(let field):
      let values = texts[field] ?? []
      return values.isEmpty ? nil : values.joined(separator: ", ")
    case .number(let field):
      return numbers[field].map { Self.text($0) }
    case .time(.taken): return takenText
    case .time(let field): return times[field].map { Timestamp(microseconds: $0).rfc3339 }
    }
  }

  /// A number as text.
  package static func text(_ number: Double) -> String {
    Int(exactly: number).map { "\($0)" } ?? "\(number)"
  }

  /// The value of a field as JSON.
  package func json(of field: Field) -> JSONValue {
    switch field {
    case .text(let field) where field.isList:
      return .array((texts[field] ?? []).map { .string($0) })
    case .number(let field):
      guard let number = numbers[field] else { return .null }
      return Int(exactly: number).map { .integer($0) } ?? .number(number)
    default: return text(of: field).map { .string($0) } ?? .null
    }
  }
}
