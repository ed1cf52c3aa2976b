import Foundation
import Testing

/// Who may import what, read from the sources themselves.
///
/// SwiftPM lets a target import what its dependencies depend on, so the
/// manifest alone does not keep modules apart.
@Suite("Imports keep to the layers", .timeLimit(.minutes(1)))
struct ImportBoundaryTests {
  /// The one module that may import a C library.
  private static let wrappers = [
    "CLinux": ["Files"], "CCrypto": ["Hashing"], "CSQLite": ["Catalog"], "CVips": ["Vips"],
    "CMagic": ["Identify"],
    // No library but a header: both sides of the ABI need it.
    "CPipelinePlugin": ["PipelinePlugin", "Engine", "Identify", "Thumbnail"],
  ]

  /// What each module may import of this project; nothing but this.
  private static let layers: [String: Set<String>] = [
    "PipelineModel": [],
    "PipelinePlugin": ["PipelineModel"],
    "Hashing": ["PipelineModel"],
    "Vips": [],
    "Files": ["Hashing", "PipelineModel"],
    "Originals": ["Files", "Hashing", "PipelineModel"],
    "Manifest": ["Files", "Hashing", "PipelineModel"],
    "Catalog": ["PipelineModel"],
    "Configuration": ["Files", "PipelineModel"],
    "Ingest": [
      "Catalog", "Configuration", "Files", "Hashing", "Manifest", "Originals", "PipelineModel",
    ],
    "Engine": [
      "Catalog", "Configuration", "Files", "Hashing", "Originals", "PipelineModel",
      "PipelinePlugin",
    ],
    "pipeline": [
      "Catalog", "Configuration", "Engine", "Files", "Hashing", "Ingest", "Manifest", "Originals",
      "PipelineModel", "PipelinePlugin",
    ],
    "SamplePictures": ["Files", "PipelineModel", "Vips"],
    "Identify": ["PipelineModel", "PipelinePlugin", "Vips"],
    "Thumbnail": ["PipelineModel", "PipelinePlugin", "Vips"],
  ]

  /// What comes with Swift; the whole of Foundation is for tests.
  private static let standard: Set = [
    "Dispatch", "FoundationEssentials", "Glibc", "Synchronization",
  ]

  @Test("Every import of every module is one that its layer may have")
  func imports() throws {
    var modules: Set<String> = []
    for (module, file, imported) in try Self.allImports() {
      modules.insert(module)
      let own = try #require(Self.layers[module], "\(module) has no layer")
      let isAllowed =
        Self.standard.contains(imported) || own.contains(imported)
        || Self.wrappers[imported, default: []].contains(module)
      #expect(isAllowed, "\(file) imports \(imported)")
    }
    // A pattern that finds no imports would find no fault either.
    #expect(modules == Set(Self.layers.keys))
  }

  @Test("The layers have no cycle")
  func order() {
    var left = Self.layers
    while let bottom = left.first(where: { $0.value.isDisjoint(with: left.keys) }) {
      left[bottom.key] = nil
    }
    #expect(left.isEmpty, "\(left.keys.sorted()) import each other")
  }

  @Test("The program itself links neither libvips nor libmagic")
  func programIsFree() {
    var reached: Set<String> = []
    var next = ["pipeline"]
    while let module = next.popLast() {
      if reached.insert(module).inserted { next += Self.layers[module] ?? [] }
    }
    #expect(reached.isDisjoint(with: ["Vips", "Identify", "Thumbnail"]))
    #expect(reached.contains("PipelineModel"))
  }

  private static func allImports() throws -> [(module: String, file: String, imported: String)] {
    let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let pattern = try Regex(
      #"^\s*(?:@\w+\s+)*(?:\w+\s+)?import\s+(?:(?:struct|class|enum|func|var|protocol|typealias)\s+)?(\w+)"#
    ).anchorsMatchLineEndings()
    var found: [(String, String, String)] = []
    for root in ["Sources", "Plugins"] {
      let folder = top.appending(path: root)
      let names = try #require(FileManager.default.enumerator(atPath: folder.path))
      for case let name as String in names where name.hasSuffix(".swift") {
        let module = String(name.prefix { $0 != "/" })
        let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        for match in text.matches(of: pattern) {
          let imported = try #require(match.output[1].substring)
          found.append((module, "\(root)/\(name)", String(imported)))
        }
      }
    }
    try #require(!found.isEmpty)
    return found
  }
}
