/// Puts text in quotes, shortened and safe to write to a terminal.
package func quoted(_ text: String) -> String {
  "“\(text.shortened(to: 80).printable)”"
}

extension Unicode.Scalar {
  /// Whether a terminal may obey it, or show what stands beside it elsewhere or not at all: a
  /// control character, one that formats (such as those that turn the direction of writing), or
  /// one that ends a line.
  package var isControlling: Bool {
    if isASCII { return value < 0x20 || value == 0x7F }
    return switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension String {
  /// The text with each controlling character escaped, so that it is safe to write to a terminal
  /// and on one line.
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

  /// The text, or its beginning with “…” where it has more characters than `most`, at least 1.
  package func shortened(to most: Int) -> String {
    // No text has more characters than bytes, and those are counted already.
    let scalars = unicodeScalars
    guard utf8.count > most,
      let end = scalars.index(scalars.startIndex, offsetBy: most, limitedBy: scalars.endIndex),
      end < scalars.endIndex
    else { return self }
    return String(scalars.prefix(most - 1)) + "…"
  }
}

/// A number and what is counted, in the singular where that is right: `1 job`, `2 jobs`.
package func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}
