import Configuration
import Hashing
import PipelineModel
import Records
import Testing

@testable import Catalog
@testable import LibrarySession

/// Which renditions show the whole picture, and which other pictures are made of.
@Suite("What renditions show", .timeLimit(.minutes(1)))
struct ConfiguredRenditionsTests {
  private typealias Content = ConfiguredRenditions.Content

  private func rendition(
    _ name: String = "grid", of stage: String = "thumbnails", from: String? = "image"
  ) -> RenditionRecord {
    RenditionRecord(
      id: 1, stage: stage, name: name, mediaType: "image/jpeg", width: 100, height: 100, bytes: 1,
      digest: SHA256.digest(of: []), from: from, path: nil, isStale: false)
  }

  private func configured(
    _ options: JSONValue, _ change: (inout StageConfiguration) -> Void = { _ in }
  ) -> ConfiguredRenditions {
    var stage = StageConfiguration(name: "thumbnails", plugin: "thumbnail")
    stage.options = options
    change(&stage)
    return ConfiguredRenditions([stage, StageConfiguration(name: "motion", plugin: "motion")])
  }

  private func content(_ options: JSONValue, orientation: Int? = 1) -> Content {
    configured(options).content(of: rendition(), orientation: orientation)
  }

  @Test("A size is judged by itself, so one that is altered does not spoil the others")
  func sizes() {
    func size(_ member: String, _ value: JSONValue) -> JSONValue {
      let other: JSONValue = ["name": "other", "maxPixelSize": 9]
      var grid: [String: JSONValue] = ["name": "grid", "maxPixelSize": 100]
      grid[member] = value
      return ["sizes": [.object(grid), other]]
    }
    let changes: [(String, JSONValue, Content)] = [
      ("rotation", 90, .altered), ("rotation", 0, .picture), ("mirrored", true, .altered),
      ("mirrored", false, .picture), ("tones", "gray", .altered), ("tones", "bitonal", .altered),
      ("tones", "color", .picture), ("width", 10, .altered), ("sprites", 9, .altered),
      ("animated", true, .animation), ("animated", false, .picture), ("quality", 9, .picture),
    ]
    for (member, value, expected) in changes {
      let configured = configured(size(member, value))
      #expect(
        configured.content(of: rendition(), orientation: 1) == expected, "\(member) \(value)")
      #expect(configured.content(of: rendition("other"), orientation: 1) == .picture)
      #expect(configured.isSource(rendition(), orientation: 1) == (expected == .picture))
    }
  }

  @Test("A part of the picture is not the picture, whatever the size")
  func region() {
    #expect(content(["region": [0, 0, 9, 9]]) == .altered && content(["region": []]) == .picture)
    let animated: JSONValue = ["name": "grid", "maxPixelSize": 9, "animated": true]
    #expect(content(["region": [0, 0, 9, 9], "sizes": [animated]]) == .altered)
  }

  @Test("Without transform, pictures are upright that lie so in their files")
  func orientation() {
    for orientation in 1...8 {
      #expect(content([:], orientation: orientation) == .picture)
      let isUpright = orientation == 1
      #expect(
        content(["transform": false], orientation: orientation) == (isUpright ? .picture : .altered)
      )
    }
    #expect(content(["transform": false], orientation: nil) == .picture)
    #expect(configured(["transform": false]).dependsOnOrientation)
    #expect(!configured(["transform": true]).dependsOnOrientation)
  }

  @Test("Of what others make nobody knows what it shows; a sprite sheet is no picture")
  func others() {
    #expect(configured([:]).content(of: rendition(of: "motion"), orientation: 1) == .unknown)
    #expect(configured([:]).content(of: rendition(of: "former"), orientation: 1) == .unknown)
    let command = configured([:]) { $0.command = ["/bin/true"] }
    #expect(command.content(of: rendition(), orientation: 1) == .unknown)
    #expect(
      configured([:]).content(of: rendition(from: "sprites"), orientation: 1) == .altered)
    for one in [rendition(of: "motion"), rendition(of: "former"), rendition(from: "sprites")] {
      #expect(!configured([:]).isSource(one, orientation: 1))
    }
  }

  @Test(
    "What other pictures are made of also has usual colours, no metadata, and is current and whole")
  func sources() {
    for options: JSONValue in [["strip": false], ["colorSpace": "keep"], ["colorSpace": "p3"]] {
      #expect(content(options) == .picture)
      #expect(!configured(options).isSource(rendition(), orientation: 1), "\(options)")
    }
    #expect(!configured([:]).isSource(rendition(from: "preview"), orientation: 1))
    var stale = rendition()
    stale.isStale = true
    #expect(!configured([:]).isSource(stale, orientation: 1))
    #expect(configured([:]).isSource(rendition(), orientation: 1))
    #expect(configured([:]).isStripped(rendition()))
    #expect(!configured(["strip": false]).isStripped(rendition()))
    #expect(!configured([:]).isStripped(rendition(of: "motion")))
  }

  @Test("It is the same for the process that is told of it as text")
  func coded() throws {
    let configured = configured(["transform": false, "region": [1, 1, 2, 2], "strip": false])
    let text = try JSONText.encode(configured)
    #expect(try JSONText.decode(ConfiguredRenditions.self, from: Array(text.utf8)) == configured)
  }
}
