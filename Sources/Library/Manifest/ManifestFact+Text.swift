import PipelineModel

/// Facts as text, for who passes them on to the process with the manifest.
extension ManifestFact {
  /// The fact as a line of the manifest, without a place in it.
  package var text: String {
    let line = ManifestLine(
      ManifestEntry(sequence: 0, time: Timestamp(microseconds: 0), fact: self))
    return String(decoding: line.encode().dropLast(), as: UTF8.self)
  }

  /// Reads such a line; `nil` if it is something else.
  package init?(text: String) {
    guard let fact = ManifestLine.decode(Array(text.utf8))?.entry?.fact else { return nil }
    self = fact
  }
}
