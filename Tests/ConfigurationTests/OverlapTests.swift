import PipelineModel
import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1))) struct OverlapTests {
  private func sources(_ paths: [String], library: String = "library", rest: String = "") -> String
  {
    let list = paths.map { #"{"path": "\#($0)"\#(rest)}"# }.joined(separator: ", ")
    return #"{"library": "\#(library)", "sources": [\#(list)]}"#
  }

  @Test("A source can't be another source, nor inside one, nor around one")
  func sourceInSource() throws {
    let same = try error(sources(["a", "./b/../a/"]))
    #expect(same.code == .overlap && same.pointer == "/sources/1/path")
    #expect(same.message.contains("is another source, too"))
    let inside = try error(sources(["a", "a/b"]))
    #expect(inside.code == .overlap && inside.message.contains("is inside another source"))
    let around = try error(sources(["a/b", "a"]))
    #expect(around.code == .overlap && around.message.contains("contains another source"))
    #expect(errors(sources(["a", "ab", "b/a"])).isEmpty)
  }

  @Test("Source and library must be apart")
  func sourceAndLibrary() throws {
    for (source, library) in [("x", "x"), ("x/y", "x"), ("x", "x/y"), ("/", "/srv/l")] {
      let error = try error(sources([source], library: library))
      #expect(error.code == .overlap && error.pointer == "/sources/0/path")
      #expect(error.message.contains("the library"))
    }
  }

  @Test("Source and catalog must be apart")
  func sourceAndCatalog() throws {
    let error = try error(#"{"library": "l", "catalog": "in/db", "sources": [{"path": "in"}]}"#)
    #expect(error.code == .overlap && error.message.contains("the catalog"))
  }

  @Test("A plugin can't be allowed to write into the library")
  func writing() throws {
    let error = try error(withStage(#""allow": {"write": ["/tmp/x", "library/originals"]}"#))
    #expect(error.code == .overlap && error.pointer == "/stages/0/allow/write/1")
  }

  @Test("A source that moves can't take the configuration or the plugins away")
  func movingAway() throws {
    let move = #", "mode": "move""#
    let error = try error(sources(["."], library: "/srv/library", rest: move))
    #expect(error.code == .overlap && error.message.contains("this configuration"))
    let excluded = move + #", "exclude": ["/pipeline.json"]"#
    #expect(errors(sources(["."], library: "/srv/library", rest: excluded)).isEmpty)
    #expect(errors(sources(["."], library: "/srv/library")).isEmpty)
    let plugins = try ConfigurationTests.error(
      #"{"library": "l", "plugins": ["in/p"], "sources": [{"path": "in", "mode": "move"}]}"#)
    #expect(plugins.code == .overlap && plugins.message.contains("plugins"))
  }
}
