import PipelinePlugin

/// One argument with places for what differs from job to job.
struct Template: Hashable, Sendable {
  /// What stands for something else, as written between braces.
  enum Place: String, CaseIterable, Sendable { case input, output, name, id, digest, mediaType }

  private enum Part: Hashable, Sendable {
    case text(String)
    case place(Place)
  }

  private let parts: [Part]

  /// What is wrong with an argument, as a sentence's end.
  struct Mistake: Error { let message: String }

  /// Takes an argument apart: `{input}` is a place, `{{` a brace.
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
      guard let end = rest.firstIndex(of: "}"), let place = Place(rawValue: String(rest[..<end]))
      else {
        let known = Place.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
        throw Mistake(
          message: "“\(argument)” has a place that is not known; known are \(known), "
            + "and {{ stands for a brace")
      }
      parts += [.text(text), .place(place)]
      text = ""
      rest = rest[end...].dropFirst()
    }
    self.parts = parts + [.text(text + rest)]
  }

  /// Whether nothing in it differs from job to job.
  var isPlain: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  /// The argument of one job.
  func filled(_ value: (Place) -> String) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .place(let place): value(place)
      }
    }.joined()
  }
}
