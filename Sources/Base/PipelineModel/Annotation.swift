/// Something that a user says about an asset, beside what its file says.
package struct Annotation: Hashable, Codable, Sendable {
  package enum Property: String, CaseIterable, Codable, Sendable {
    case album, caption, rating, tag, title

    /// Whether an asset may have several.
    package var isList: Bool { self == .tag || self == .album }
  }

  package var property: Property
  /// The value, in NFC; empty if a property that is no list is taken away.
  package var text: String
  /// Whether the asset has it: `false` takes it away, even if the file says it.
  package var applies: Bool

  package init(_ property: Property, _ text: String, applies: Bool = true) {
    self.property = property
    self.text = text
    self.applies = applies
  }
}

extension Sequence<Annotation> {
  /// Those that add to what is said of an asset already, in order.
  package func news(to said: [Annotation]) -> [Annotation] {
    var said = Set(said)
    return filter { annotation in
      if said.contains(annotation) { return false }
      said = said.filter {
        $0.property != annotation.property
          || annotation.property.isList && $0.text != annotation.text
      }
      said.insert(annotation)
      return true
    }
  }
}
