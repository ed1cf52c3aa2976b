import Foundation
import Testing

/// Reads the sources of the package as text: who imports whom.
@Suite("The architecture", .timeLimit(.minutes(1)))
struct ArchitectureTests {
  /// The package's folder, three above this file.
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The Swift targets of the program and of its product for others, `PipelineLibrary`; each may import
  /// only those before it.
  private static let order = [
    "PipelineModel", "PipelinePlugin", "Hashing", "Compression", "Spawn", "Files", "Sandbox",
    "Configuration",
    "PluginHost", "ObjectStorage", "Originals", "Renditions", "Manifest", "Query", "Records",
    "PostgreSQL",
    "Catalog", "Ingest",
    "LibraryControl", "PipelineLibrary", "Export", "Engine",
    "PluginTesting", "LibrarySession", "Web", "pipeline-web", "Doctor", "pipeline",
  ]
  /// Targets that the program does not use: of plugins, and of a tool for trying it out.
  private static let beside = ["Containers", "PictureDecoding", "SamplePictures", "Vips", "Zimg"]
  /// The wrapped C libraries, with the one Swift target that may import each.
  private static let owners = [
    "CSQLite": "Catalog", "CCrypto": "Hashing", "CVips": "Vips", "CZimg": "Zimg",
    "CMagic": "Identify", "CLinux": "Files", "CSandbox": "Sandbox", "CGexiv2": "Metadata",
    "CUtf8proc": "Query", "CSpawn": "Spawn", "CPictureLoaders": "Vips", "CZlib": "Compression",
    "CLibAV": "VideoDecoder", "CLibRaw": "RawDecoder", "CMagickCore": "MagickDecoder",
    "COpenJPEG": "OpenJPEGDecoder", "CMicroHTTPD": "Web", "CCurl": "ObjectStorage",
    "CExpat": "ObjectStorage", "CPostgreSQL": "PostgreSQL",
  ]
  /// The modules that a plugin in this package may import, as a stranger's could.
  private static let pluginModules: Set = [
    "CPipelinePlugin", "PipelinePlugin", "PipelineModel", "Containers", "PictureDecoding", "Vips",
    "Zimg",
    "CMagic", "CGexiv2", "Spawn",
  ]

  /// The modules that each target of a folder imports.
  private func imports(in folder: String) throws -> [String: Set<String>] {
    let pattern =
      /(?m)^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias|actor|macro)\s+)?(\w+)/
    let manager = FileManager.default
    let base = Self.root.appending(path: folder)
    var places = try manager.contentsOfDirectory(atPath: base.path)
    // `Sources` groups its targets in folders.
    if folder == "Sources" {
      places = try places.flatMap { group in
        try manager.contentsOfDirectory(atPath: base.appending(path: group).path)
          .map { "\(group)/\($0)" }
      }
    }
    var found: [String: Set<String>] = [:]
    for place in places {
      let target = String(place.split(separator: "/").last ?? "")
      let files = manager.enumerator(atPath: base.appending(path: place).path)
      while let file = files?.nextObject() as? String {
        guard file.hasSuffix(".swift") else { continue }
        let path = base.appending(path: place).appending(path: file)
        let text = try String(contentsOf: path, encoding: .utf8)
        for match in text.matches(of: pattern) {
          found[target, default: []].insert(String(match.output.1))
        }
      }
    }
    return found
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  /// The dependencies that the manifest gives each target whose sources are not in `Tests`.
  private func declared() throws -> [String: Set<String>] {
    let text = try text("Package.swift")
    let beginning =
      /(\w+)\(\s*(?:name:\s*)?"([\w-]+)"(?=,|\))/
    let kinds: Set = [
      "target", "executableTarget", "testTarget", "systemLibrary", "plugin", "decoder", "tests",
      "system",
    ]
    let matches = text.matches(of: beginning).filter { kinds.contains(String($0.output.1)) }
    var found: [String: Set<String>] = [:]
    for (index, match) in matches.enumerated() {
      let end = index + 1 < matches.count ? matches[index + 1].range.lowerBound : text.endIndex
      let rest = text[match.range.upperBound..<end]
      let isBeside = [#"path: "Tests/"#, #"path: "Benchmarks/"#].contains { rest.contains($0) }
      if ["tests", "testTarget"].contains(match.output.1) || isBeside { continue }
      let list = rest.firstMatch(of: /^,\s*(?:dependencies:\s*)?\[([^\]]*)\]/)?.output.1 ?? ""
      found[String(match.output.2)] = Set(
        list.matches(of: /"([\w-]+)"/).map { String($0.output.1) })
    }
    return found
  }

  @Test("Targets import only those before them, and only what the manifest says")
  func order() throws {
    let imports = try imports(in: "Sources")
    let declared = try declared()
    for (place, target) in Self.order.enumerated() {
      let ours = try #require(imports[target], "\(target) has no sources")
      let later = ours.intersection(Self.order[place...])
      #expect(later.isEmpty, "\(target) imports \(later.sorted()), which come after it")
      let dependencies = try #require(declared[target], "\(target) is not in the manifest")
      #expect(dependencies.intersection(Self.order[place...]).isEmpty)
      let local = ours.intersection(Self.order + Self.beside + Self.owners.keys)
      #expect(
        local.isSubset(of: dependencies),
        "\(target) imports \(local.subtracting(dependencies).sorted()) undeclared")
    }
  }

  @Test("Every target has its place in the order")
  func complete() throws {
    let targets = Set(try imports(in: "Sources").keys)
    #expect(targets == Set(Self.order + Self.beside))
  }

  @Test("Each C library is imported by exactly one target")
  func wrappers() throws {
    let all = try ["Sources", "Plugins", "Decoders"].reduce(into: [:]) { all, folder in
      all.merge(try imports(in: folder)) { $0.union($1) }
    }
    for (library, owner) in Self.owners {
      let users = all.filter { $0.value.contains(library) }.keys.sorted()
      #expect(users == [owner], "\(library)")
    }
  }

  @Test("The program neither imports nor links libvips, libmagic or gexiv2")
  func host() throws {
    let declared = try declared()
    let imports = try imports(in: "Sources")
    for target in Self.order {
      let reached = declared[target, default: []].union(imports[target, default: []])
      #expect(
        reached.isDisjoint(with: Self.beside + ["CVips", "CZimg", "CMagic", "CGexiv2"]), "\(target)"
      )
    }
  }

  @Test("A bundled plugin imports nothing of the program but what a stranger's could")
  func plugins() throws {
    let plugins = try imports(in: "Plugins")
    #expect(!plugins.isEmpty)
    for (plugin, modules) in plugins {
      let inner = modules.intersection(Self.order + Self.owners.keys + Self.beside)
      #expect(inner.isSubset(of: Self.pluginModules), "\(plugin) imports \(inner.sorted())")
    }
  }

  @Test("A decoder imports nothing but its library and what describes pictures")
  func decoders() throws {
    let decoders = try imports(in: "Decoders")
    #expect(!decoders.isEmpty)
    let shared: Set = ["Containers", "CPictureDecoder", "PictureDecoding", "PipelineModel"]
    for (decoder, modules) in decoders {
      let inner = modules.intersection(Self.order + Self.owners.keys + Self.beside)
      let own = Self.owners.filter { $0.value == decoder }.keys
      #expect(inner.isSubset(of: shared.union(own)), "\(decoder) imports \(inner.sorted())")
    }
  }

  @Test("The picture has every target and every dependency, and nothing else")
  func picture() throws {
    let declared = try declared()
    try #require(declared.count > 30 && declared["Engine"]?.contains("PluginHost") == true)
    let shown = try text("docs/architecture.svg")
      .matches(of: /<(?:g|path)(?: class="\w+")? id="([^"]+)"/).map { String($0.output.1) }
    let expected =
      declared.keys + declared.flatMap { user, needs in needs.map { "\(user)--\($0)" } }
    let different = Set(shown).symmetricDifference(expected)
    #expect(different.isEmpty, "\(Self.advice)")
    #expect(shown.count == expected.count)
  }

  @Test("The picture is what its script draws")
  func drawing() throws {
    #expect(try draw() == text("docs/architecture.svg"), "\(Self.advice)")
  }

  private static let advice = "docs/target-graph > docs/architecture.svg"

  private func draw() throws -> String {
    let script = Process()
    script.executableURL = Self.root.appending(path: "docs/target-graph")
    let output = Pipe()
    script.standardOutput = output
    try script.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    script.waitUntilExit()
    try #require(script.terminationStatus == 0)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// They are counted by the functions that insert them, not by triggers.
  @Test("Rows of imports are inserted in one file")
  func importedRows() throws {
    let sources = Self.root.appending(path: "Sources")
    let files = try #require(FileManager.default.enumerator(atPath: sources.path))
    var places: Set<String> = []
    while let file = files.nextObject() as? String {
      guard file.hasSuffix(".swift") else { continue }
      let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
      if text.contains(/INTO\s+(main\.)?(original|asset|sighting)\b/) { places.insert(file) }
    }
    #expect(places == ["Library/Catalog/CatalogWriter+Import.swift"])
  }

  /// All of Foundation costs the program 3 ms at each start. `SortDescriptor`, which the product for
  /// other programs takes, is in no smaller part of it.
  @Test("Only FoundationEssentials is used of Foundation")
  func foundation() throws {
    for folder in ["Sources", "Plugins", "Decoders"] {
      for (target, modules) in try imports(in: folder) where target != "PipelineLibrary" {
        #expect(!modules.contains("Foundation"), "\(target)")
      }
    }
  }
}
