import PipelinePlugin

/// One argument with placeholders for what differs from job to job.
struct Template: Hashable, Sendable {
  /// A placeholder, as written between braces.
  enum Placeholder: String, CaseIterable, Sendable {
    case input, output, name, id, digest, mediaType
  }

  private enum Part: Hashable, Sendable {
    case text(String)
    case place(Placeholder)
  }

  private let parts: [Part]

  /// What is wrong with an argument, worded as the end of a sentence.
  struct Mistake: Error { let message: String }

  /// Parses an argument: `{input}` is a placeholder, `{{` a brace.
  init(_ argument: String) throws(Mistake) {
    var parts: [Part] = []
    var text = ""
    var rest = argument[...]
    while let brace = rest.firstIndex(of: "{") {
      text += rest[..<brace]
      rest = rest[brace...].dropFirst()
      if rest.first == "{" {
        text.append("{")
        rest = rest.dropFirst()
        continue
      }
      guard let end = rest.firstIndex(of: "}"),
        let place = Placeholder(rawValue: String(rest[..<end]))
      else {
        let known = Placeholder.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
        throw Mistake(
          message: "“\(argument)” has an unknown placeholder; known are \(known), "
            + "and {{ stands for a brace")
      }
      parts += [.text(text), .place(place)]
      text = ""
      rest = rest[end...].dropFirst()
    }
    self.parts = parts + [.text(text + rest)]
  }

  /// Whether it contains no placeholder.
  var isPlain: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  func filled(_ value: (Placeholder) -> String) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .place(let place): value(place)
      }
    }.joined()
  }
}
