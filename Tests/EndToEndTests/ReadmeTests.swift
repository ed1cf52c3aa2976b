import Fixtures
import Foundation
import Testing

/// What the documents tell people to type does what they say.
@Suite("The documents' commands work as written", .timeLimit(.minutes(5)))
struct ReadmeTests {
  @Test("The quick start of the README takes pictures and makes thumbnails")
  func quickStart() throws {
    let place = try DocumentFolder()
    let script = try DocumentFolder.blocks("sh", of: "README.md", section: "Quick start")
    try #require(script.contains("pipeline init"))
    let outcome = try place.run(script)
    #expect(outcome.status == 0, "\(outcome.text)")
    #expect(outcome.text.contains("landscape.jpg") && outcome.text.contains("upright.jpg"))
    let thumbnail = try Data(contentsOf: place.home.appending(path: "thumbnail.jpg"))
    let picture = try PicturesReading(Array(thumbnail))
    #expect(max(picture.width, picture.height) == 1024)
    #expect(try place.names("pictures/inbox").isEmpty)
    #expect(outcome.text.contains("landscape.jpg: OK") && outcome.text.contains("upright.jpg: OK"))
  }

  @Test("What the README says of deleting works, one command after the other")
  func deleting() throws {
    let place = try DocumentFolder()
    let script = try ["Quick start", "Deleting, and changing your mind"].map {
      try DocumentFolder.blocks("sh", of: "README.md", section: $0)
    }.joined(separator: "\n")
    try #require(script.contains("pipeline undo") && script.contains("trash restore"))
    let outcome = try place.run(script)
    #expect(outcome.status == 0, "\(outcome.text)")
    #expect(outcome.text.contains("return /") && !outcome.text.contains("pipeline:"))
  }

  @Test("The recipes of docs/format.md check a library without the program")
  func formatRecipes() throws {
    let place = try DocumentFolder()
    let quickStart = try DocumentFolder.blocks("sh", of: "README.md", section: "Quick start")
    try #require(try place.run(quickStart).status == 0)
    let recipes = try DocumentFolder.blocks("sh", of: "docs/format.md", section: nil)
    try #require(recipes.contains("sha256sum") && recipes.contains("sqlite3"))
    let whole = try place.run("cd ~/pictures/library\n" + recipes)
    #expect(whole.status == 0, "\(whole.text)")
    #expect(!whole.text.contains("damaged") && whole.text.contains("landscape.jpg"))

    try place.damage("pictures/library/manifest/0001.jsonl")
    let damaged = try place.run("cd ~/pictures/library\n" + recipes)
    #expect(damaged.text.contains("damaged"))
  }
}
