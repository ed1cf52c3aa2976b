import Files
import Fixtures
import Foundation
import LibrarySession
import PipelineModel
import Testing

/// A folder with a configuration without stages, an inbox, and the library that sessions make.
struct SessionFixture {
  let folder: TemporaryFolder
  let search: ConfigurationSearch

  init(_ members: [String: JSONValue] = [:]) throws {
    folder = try TemporaryFolder()
    search = ConfigurationSearch(
      file: folder.appending("pipeline.json"), workingFolder: folder.path)
    try Descriptor.openFolder(folder.path).makeFolder("inbox", mode: 0o700)
    try configure(members)
  }

  /// Writes the configuration; its files are complete at once, and are moved.
  func configure(_ members: [String: JSONValue] = [:]) throws {
    let all: [String: JSONValue] = [
      "library": "library", "stages": [],
      "sources": [["path": "inbox", "settle": "0ms", "mode": "move"]],
    ].merging(members) { $1 }
    let text = try JSONText.encode(JSONValue.object(all))
    let file = try Descriptor.openFolder(folder.path)
    try file.writeDurably(Array(text.utf8), as: "pipeline.json", mode: 0o600)
  }

  @discardableResult
  func put(_ text: String, as name: BytePath, in place: BytePath = "inbox") throws -> BytePath {
    let path = folder.appending(place).appending(name)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path.description))
    return path
  }

  func configuredLibrary() throws -> ConfiguredLibrary {
    try ConfiguredLibrary(search, makesLibrary: true)
  }
}

/// Waits for a condition, for at most 20 seconds.
func waitUntil(_ condition: () throws -> Bool) throws {
  let end = ContinuousClock().now + .seconds(20)
  while try !condition() {
    try #require(ContinuousClock().now < end)
    usleep(5000)
  }
}
