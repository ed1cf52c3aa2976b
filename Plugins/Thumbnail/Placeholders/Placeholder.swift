import FoundationEssentials
import PipelineModel

/// What shows roughly what a picture looks like before it is loaded, and tells whether it looks like
/// another.
///
/// `docs/placeholders.md` describes the facts to users.
struct Placeholder {
  /// The names of all facts.
  static let names = ["dominantColor", "thumbHash", "perceptualHash"]

  let facts: [String: JSONValue]

  init(_ swatch: Swatch) {
    var facts: [String: JSONValue] = [
      "thumbHash": .string(Data(ThumbHash(swatch).bytes).base64EncodedString())
    ]
    facts["dominantColor"] = DominantColor(swatch).map { .string($0.text) }
    facts["perceptualHash"] = PerceptualHash(swatch).map { .string($0.text) }
    self.facts = facts
  }
}
