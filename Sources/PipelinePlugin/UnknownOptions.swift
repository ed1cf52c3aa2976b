extension Decoder {
  /// Refuses options that a plugin does not know; the first by name is told.
  ///
  /// The program checks options against the manifest's schema first. A plugin that
  /// checks them too says the same to whoever calls it without the program.
  ///
  /// - Parameter known: the names of all options.
  /// - Throws: `DecodingError`, which names the option and those that there are.
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
