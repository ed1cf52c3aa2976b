/// Quotes text, shortened and safe to write to a terminal.
package func quoted(_ text: String) -> String {
  "“\(text.shortened(to: 80).printable)”"
}

extension Unicode.Scalar {
  /// Whether a terminal may obey the character, hide its neighbours or move them: control
  /// characters, formatting characters such as bidirectional overrides, and line ends.
  package var isControlling: Bool {
    if isASCII { return value < 0x20 || value == 0x7F }
    return switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension String {
  /// The text with control characters escaped: safe to write to a terminal and always on one line.
  package var printable: String {
    guard unicodeScalars.contains(where: \.isControlling) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if scalar.isControlling {
        text += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The text or, if it has more than `most` characters (at least 1), its beginning with “…”.
  package func shortened(to most: Int) -> String {
    // A text has at most as many characters as bytes, and the byte count is known.
    let scalars = unicodeScalars
    guard utf8.count > most,
      let end = scalars.index(scalars.startIndex, offsetBy: most, limitedBy: scalars.endIndex),
      end < scalars.endIndex
    else { return self }
    return String(scalars.prefix(most - 1)) + "…"
  }
}

/// Returns a count with its noun, plural unless it is 1: `1 job`, `2 jobs`.
package func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}

/// The most items listed in a sentence.
private let mostListed = 20

/// Lists items: `“a”, “b”, “c”`, or the first ones `and 7 more`.
package func listed(_ texts: [String]) -> String {
  let first = texts.prefix(mostListed).joined(separator: ", ")
  return texts.count > mostListed ? "\(first) and \(texts.count - mostListed) more" : first
}

/// Lists alternatives: `“a”, “b” or “c”`.
package func alternatives(_ texts: [String]) -> String {
  guard let last = texts.last else { return "nothing" }
  if texts.count > mostListed { return "one of \(listed(texts))" }
  return texts.count == 1 ? last : texts.dropLast().joined(separator: ", ") + " or " + last
}
