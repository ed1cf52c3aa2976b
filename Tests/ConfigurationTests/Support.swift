import PipelineModel
import Testing

@testable import Configuration

/// Where the tests' configurations pretend to be.
let file = BytePath("/home/me/pictures/pipeline.json")

/// Decodes a configuration that must be right.
func decode(_ text: String) throws -> PipelineConfiguration {
  try PipelineConfiguration.decode(bytes: text.utf8, file: file)
}

/// Decodes a configuration and returns everything that is wrong with it.
func errors(_ text: String) -> [ConfigurationError] {
  errors(Array(text.utf8))
}

/// Decodes bytes and returns everything that is wrong with them.
func errors(_ bytes: [UInt8]) -> [ConfigurationError] {
  do {
    _ = try PipelineConfiguration.decode(bytes: bytes, file: file)
    return []
  } catch {
    return error.errors
  }
}

/// Decodes a configuration with exactly one error in it, and returns that.
func error(
  _ text: String, sourceLocation: SourceLocation = #_sourceLocation
) throws -> ConfigurationError {
  let found = errors(text)
  try #require(found.count == 1, "\(found)", sourceLocation: sourceLocation)
  return found[0]
}

/// A configuration with one source.
func withSource(_ members: String) -> String {
  #"{"library": "library", "sources": [{"path": "inbox"\#(members.isEmpty ? "" : ", \(members)")}]}"#
}

/// A configuration with one stage.
func withStage(_ members: String) -> String {
  #"""
  {"library": "library", "stages": [
    {"name": "one", "plugin": "p"\#(members.isEmpty ? "" : ", \(members)")}]}
  """#
}

/// A configuration with stages that need each other.
func withStages(_ stages: [(name: String, needs: [String])]) -> String {
  let texts = stages.map { stage in
    let needs = stage.needs.map { "\"\($0)\"" }.joined(separator: ", ")
    return #"{"name": "\#(stage.name)", "plugin": "p", "needs": [\#(needs)]}"#
  }
  return #"{"library": "library", "stages": [\#(texts.joined(separator: ", "))]}"#
}
