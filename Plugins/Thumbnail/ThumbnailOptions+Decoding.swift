import PipelinePlugin

extension ThumbnailOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable {
    case transform, fromImage, sizes, format, quality, strip, colorSpace, scaling
  }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    func set<Value: Decodable>(_ path: WritableKeyPath<Self, Value>, _ key: Key) throws {
      if values.contains(key) { self[keyPath: path] = try values.decode(Value.self, forKey: key) }
    }
    try set(\.transform, .transform)
    try set(\.fromImage, .fromImage)
    try set(\.sizes, .sizes)
    try set(\.format, .format)
    try set(\.quality, .quality)
    try set(\.strip, .strip)
    try set(\.colorSpace, .colorSpace)
    try set(\.scaling, .scaling)
    try check(quality, in: Self.qualities, "quality", decoder)
    guard !sizes.isEmpty, sizes.count <= Self.maximumSizes else {
      throw invalid(
        "sizes has \(sizes.count) entries; 1 to \(Self.maximumSizes) are allowed", decoder)
    }
    var names: Set<String> = []
    for size in sizes where !names.insert(size.name).inserted {
      throw invalid("sizes has two entries named “\(size.name)”", decoder)
    }
  }
}

extension ThumbnailOptions.Size: Decodable {
  private enum Key: String, CodingKey, CaseIterable { case name, maxPixelSize, format, quality }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    name = try values.decode(String.self, forKey: .name)
    maxPixelSize = try values.decode(Int.self, forKey: .maxPixelSize)
    format =
      values.contains(.format)
      ? try values.decode(ThumbnailOptions.Format.self, forKey: .format) : nil
    quality = values.contains(.quality) ? try values.decode(Int.self, forKey: .quality) : nil
    guard ThumbnailOptions.isName(name) else {
      throw invalid(
        "“\(name)” is not a name: letters, digits, “-” and “_”, at most 64, not beginning with a sign",
        decoder)
    }
    try check(maxPixelSize, in: ThumbnailOptions.pixelSizes, "maxPixelSize", decoder)
    if let quality { try check(quality, in: ThumbnailOptions.qualities, "quality", decoder) }
  }
}

private func check(
  _ value: Int, in range: ClosedRange<Int>, _ name: String, _ decoder: any Decoder
) throws {
  guard range.contains(value) else {
    throw invalid(
      "\(name) is \(value); it must be \(range.lowerBound) to \(range.upperBound)", decoder)
  }
}

private func invalid(_ text: String, _ decoder: any Decoder) -> DecodingError {
  .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
}
