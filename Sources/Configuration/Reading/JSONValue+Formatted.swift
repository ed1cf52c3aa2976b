package import PipelineModel

extension JSONValue {
  /// The value as indented JSON with sorted keys and lists of scalars on one line.
  ///
  /// Unlike an encoder it can't fail: NaN and infinity become `null`.
  package func formatted() -> String {
    var text = ""
    write(to: &text, indentation: "")
    return text
  }

  private func write(to text: inout String, indentation: String) {
    let deeper = indentation + "  "
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += "\(value)"
    case .number(let value): text += value.isFinite ? "\(value)" : "null"
    case .string(let value): Self.write(value, to: &text)
    case .array(let elements):
      let isPlain = elements.allSatisfy { $0.array == nil && $0.object == nil }
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += isPlain ? ", " : "," }
        if !isPlain { text += "\n" + deeper }
        element.write(to: &text, indentation: deeper)
      }
      text += isPlain ? "]" : "\n\(indentation)]"
    case .object(let members):
      text += "{"
      let sorted = members.sorted { $0.key < $1.key }
      for (index, member) in sorted.enumerated() {
        text += (index > 0 ? ",\n" : "\n") + deeper
        Self.write(member.key, to: &text)
        text += ": "
        member.value.write(to: &text, indentation: deeper)
      }
      text += members.isEmpty ? "}" : "\n\(indentation)}"
    }
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case "\r": text += "\\r"
      case "\0"..<" ":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}

extension ByteSize {
  /// The exact size in the notation of the configuration: `4GiB`, `1000B`.
  package var notation: String {
    let units = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    for (name, factor) in units where bytes >= factor && bytes.isMultiple(of: factor) {
      return "\(bytes / factor)\(name)"
    }
    return "\(bytes)B"
  }
}
