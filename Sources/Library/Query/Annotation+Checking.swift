package import PipelineModel

extension Annotation {
  /// The longest tag, album name or title, and the longest caption, in bytes: a fact of the manifest
  /// has to stay short.
  package static let mostBytes = 1000
  package static let mostCaptionBytes = 16_000
  /// The most that can be said about an asset at once.
  package static let mostAtOnce = 100

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
    // Texts may come from other systems.
    let text = Self.trimmed(TextFolding.compose(text.replacing("\r\n", with: "\n")))
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
