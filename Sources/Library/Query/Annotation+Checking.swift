package import PipelineModel

extension Annotation {
  /// The longest tag, album name or title, and the longest caption, in bytes: a fact of the manifest
  /// has to stay short.
  package static let mostBytes = 1000
  package static let mostCaptionBytes = 16_000

  /// Checks what a user wrote, and writes it as it is stored: in NFC, without spaces at its ends.
  ///
  /// - Parameter applies: whether the asset gets it. A property that is no list has no text otherwise.
  package init(
    checking text: String, as property: Property, applies: Bool = true
  ) throws(QueryError) {
    guard applies || property.isList else {
      self.init(property, "", applies: false)
      return
    }
    let text = Self.trimmed(TextFolding.compose(text))
    guard !text.isEmpty else { throw QueryError(message: "The \(property.rawValue) is empty.") }
    let most = property == .caption ? Self.mostCaptionBytes : Self.mostBytes
    guard text.utf8.count <= most else {
      throw QueryError(message: "The \(property.rawValue) is longer than \(most) bytes.")
    }
    let isAllowed = { (scalar: Unicode.Scalar) in
      scalar.properties.generalCategory != .control
        || property == .caption && (scalar == "\n" || scalar == "\t")
    }
    guard text.unicodeScalars.allSatisfy(isAllowed) else {
      throw QueryError(message: "The \(property.rawValue) “\(text)” contains control characters.")
    }
    if property == .rating {
      guard let rating = Int(text), (-1...5).contains(rating) else {
        throw QueryError(
          message: "“\(text)” is no rating; write -1 for rejected, 0 for none, or 1 to 5 stars.")
      }
      self.init(.rating, "\(rating)")
    } else {
      self.init(property, text, applies: applies)
    }
  }

  private static func trimmed(_ text: String) -> String {
    let ends = text.drop { $0.isWhitespace }
    return String(ends.reversed().drop { $0.isWhitespace }.reversed())
  }
}

extension AssetValues {
  /// Those of some annotations, in order, that change what is known of the asset.
  package func changes(by annotations: [Annotation]) -> [Annotation] {
    var values = self
    return annotations.filter { annotation in
      if values.agree(with: annotation) { return false }
      values.add([annotation])
      return true
    }
  }

  private func agree(with annotation: Annotation) -> Bool {
    switch annotation.property {
    case .tag: contains(annotation.text, in: .tag) == annotation.applies
    case .album: contains(annotation.text, in: .album) == annotation.applies
    case .title: texts[.title]?.first == (annotation.applies ? annotation.text : nil)
    case .caption: texts[.caption]?.first == (annotation.applies ? annotation.text : nil)
    case .rating: numbers[.rating] == (annotation.applies ? Double(annotation.text) : nil)
    }
  }

  private func contains(_ text: String, in list: TextField) -> Bool {
    texts[list]?.contains(text) ?? false
  }
}
