extension Decoder {
  /// Throws if there are unknown options; names the alphabetically first one.
  ///
  /// The program checks options against the manifest's schema first. A plugin that repeats the
  /// check protects callers other than the program.
  ///
  /// - Parameter known: the names of all options.
  /// - Throws: `DecodingError`, which names the option and the known ones.
  public func refuseUnknownOptions(known: [String]) throws {
    let names = try container(keyedBy: OptionName.self).allKeys.map(\.stringValue)
    guard let name = names.filter({ !known.contains($0) }).min() else { return }
    let others = known.isEmpty ? "there are none" : "known are \(known.joined(separator: ", "))"
    throw DecodingError.dataCorrupted(
      .init(codingPath: codingPath, debugDescription: "“\(name)” is not an option; \(others)"))
  }
}

/// A key of any name.
private struct OptionName: CodingKey {
  var stringValue: String
  var intValue: Int?
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
