// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Whether pkg-config knows a library, so that what needs it can be built.
///
/// A plugin whose library is absent is left out. SwiftPM remembers what it found; it looks again
/// when a variable of the environment differs, so the Makefile exports the libraries that it found.
func isInstalled(_ library: String) -> Bool {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["pkg-config", "--exists", library]
  process.standardError = FileHandle.nullDevice
  // Without `env` or pkg-config nothing can be said to be there.
  guard (try? process.run()) != nil else { return false }
  process.waitUntilExit()
  return process.terminationStatus == 0
}

/// Warnings are errors in debug builds, whoever starts them: were it a flag of some commands, each
/// change between these and others would build everything anew.
///
/// Not in release builds, so that a compiler that warns of more keeps nobody from installing; with
/// `PIPELINE_WARNINGS=allow` in the environment not at all.
let warnings: [SwiftSetting] =
  Context.environment["PIPELINE_WARNINGS"] == "allow"
  ? [] : [.treatAllWarnings(as: .error, .when(configuration: .debug))]

/// Settings of every Swift target.
let swift: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + warnings

func target(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: swift)
}

func plugin(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Plugins/\(name)", swiftSettings: swift)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], defining condition: String? = nil
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies,
    swiftSettings: swift + (condition.map { [.define($0)] } ?? []))
}

func system(_ name: String, pkgConfig: String? = nil, apt: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

let hasMetadata = isInstalled("gexiv2")

let package = Package(
  name: "pipeline",
  products: [
    .executable(name: "pipeline", targets: ["pipeline"]),
    // What a Swift plugin author depends on.
    .library(name: "PipelinePlugin", targets: ["PipelinePlugin"]),
    // Bundled plugins: shared libraries that the program loads at run time.
    .library(name: "pipeline-identify", type: .dynamic, targets: ["Identify"]),
    .library(name: "pipeline-thumbnail", type: .dynamic, targets: ["Thumbnail"]),
    .library(name: "pipeline-command", type: .dynamic, targets: ["Command"]),
  ],
  targets: [
    // The C libraries, each imported by exactly one target below.
    system("CLinux", apt: "libc6-dev"),
    system("CCrypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
    system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    system("CVips", pkgConfig: "vips", apt: "libvips-dev"),
    system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
    system("CZimg", pkgConfig: "zimg", apt: "libzimg-dev"),
    system("CSpawn", apt: "libc6-dev"),
    system("CMagic", pkgConfig: "libmagic", apt: "libmagic-dev"),
    system("CSandbox", pkgConfig: "libseccomp", apt: "libseccomp-dev"),
    // The C ABI of a plugin: one header, and the name of the Swift toolchain.
    .target(name: "CPipelinePlugin"),

    // Values without I/O.
    target("PipelineModel", []),
    // The SDK of plugin authors, and the messages that host and plugin exchange.
    target("PipelinePlugin", ["CPipelinePlugin", "PipelineModel"]),
    // SHA-256 by libcrypto.
    target("Hashing", ["CCrypto", "PipelineModel"]),
    // The edge to the kernel.
    target("Files", ["CLinux", "Hashing", "PipelineModel"]),
    // What a worker gives up before it loads a plugin.
    target("Sandbox", ["CSandbox", "Files", "PipelineModel"]),
    // The content-addressed tree.
    target("Originals", ["Files", "Hashing", "PipelineModel"]),
    // The append-only journal of taking and deleting.
    target("Manifest", ["Files", "Hashing", "PipelineModel"]),
    // Records and ledger in SQLite.
    target("Catalog", ["CSQLite", "PipelineModel"]),
    // pipeline.json.
    target("Configuration", ["Files", "PipelineModel"]),
    // From a source to a stored, recorded original.
    target(
      "Ingest",
      [
        "Catalog", "Configuration", "Files", "Hashing", "Manifest", "Originals", "PipelineModel",
      ]),
    // Plugins, loaded into this process or run in sandboxed workers; knows neither catalog nor store.
    target(
      "PluginHost",
      [
        "Configuration", "CPipelinePlugin", "Files", "PipelineModel", "PipelinePlugin", "Sandbox",
      ]),
    // From a ledger row to facts and renditions: which job runs when, and what becomes of it.
    target(
      "Engine",
      [
        "Catalog", "Configuration", "Files", "Hashing", "Originals", "PipelineModel",
        "PipelinePlugin", "PluginHost",
      ]),
    // What files carry beside pixels, found by walking their containers; for the bundled plugins.
    target("Containers", ["CZlib"]),
    // What libvips' loaders don't tell or don't read, by libjpeg, libtiff and zlib.
    .target(
      name: "CPictureLoaders", dependencies: ["CVips"],
      linkerSettings: [.linkedLibrary("jpeg"), .linkedLibrary("tiff"), .linkedLibrary("z")]),
    // libvips for the bundled plugins; the program itself does not link it.
    target("Vips", ["Containers", "CPictureLoaders", "CVips"]),
    // zimg for the bundled plugins: resampling with the processor's vector instructions.
    target("Zimg", ["CZimg"]),
    // What plugin authors are given: skeletons, and checks of what every plugin must do.
    .target(
      name: "PluginTesting",
      dependencies: [
        "Configuration", "Files", "Hashing", "PipelineModel", "PipelinePlugin", "PluginHost",
      ],
      // What `plugins new` writes, and what `plugins test` gives to a plugin.
      resources: [.embedInCode("Templates"), .embedInCode("Samples")],
      swiftSettings: swift),
    // The command line.
    .executableTarget(
      name: "pipeline",
      dependencies: [
        "Catalog", "Configuration", "Engine", "Files", "Hashing", "Ingest", "Manifest",
        "Originals", "PipelineModel", "PipelinePlugin", "PluginHost", "PluginTesting", "Sandbox",
      ],
      swiftSettings: swift),

    // Draws pictures for `make run` and `make bench`; not installed.
    .executableTarget(
      name: "sample-pictures", dependencies: ["Files", "PipelineModel", "Vips"],
      path: "Sources/SamplePictures", swiftSettings: swift),

    // Bundled plugins.
    plugin(
      "Identify", ["CMagic", "Containers", "PipelineModel", "PipelinePlugin", "Vips"]),
    plugin("Command", ["CSpawn", "PipelineModel", "PipelinePlugin"]),
    plugin("Thumbnail", ["Containers", "PipelineModel", "PipelinePlugin", "Vips", "Zimg"]),

    // Tests. `Fixtures` makes pictures, folders and runs of the built program.
    .target(
      name: "Fixtures", dependencies: ["Containers", "Files", "PipelineModel", "Vips"],
      path: "Tests/Fixtures",
      swiftSettings: swift),
    tests("PipelineModelTests", ["PipelineModel", "PipelinePlugin"]),
    tests("FilesTests", ["Files", "Fixtures", "Hashing", "Originals", "PipelineModel"]),
    // A process that enters the sandbox and tries to get out; only tests start it.
    .executableTarget(
      name: "sandbox-probe", dependencies: ["CSandbox", "PipelineModel", "Sandbox"],
      path: "Tests/SandboxProbe", swiftSettings: swift),
    tests("SandboxTests", ["Files", "Fixtures", "PipelineModel", "Sandbox", "sandbox-probe"]),
    tests("ManifestTests", ["Files", "Fixtures", "Manifest", "PipelineModel"]),
    tests(
      "IngestTests",
      [
        "Catalog", "Configuration", "Files", "Fixtures", "Hashing", "Ingest", "Manifest",
        "Originals", "PipelineModel",
      ]),
    tests(
      "EngineTests",
      [
        "Catalog", "Configuration", "Engine", "Files", "Fixtures", "Hashing", "Originals",
        "PipelineModel", "PipelinePlugin", "PluginHost", "Sandbox",
      ]),
    // Feeds generated sayings of plugins to what reads them; only `make fuzz` starts it.
    .executableTarget(
      name: "plugin-fuzz",
      dependencies: [
        "Configuration", "Files", "Fixtures", "PipelineModel", "PipelinePlugin", "PluginHost",
      ],
      path: "Tests/PluginFuzz", swiftSettings: swift),
    tests("CatalogTests", ["Catalog", "Fixtures", "PipelineModel"]),
    tests("ConfigurationTests", ["Configuration", "Fixtures", "PipelineModel"]),
    tests(
      "PluginTests",
      [
        "Containers", "Engine", "Fixtures", "PipelineModel", "PipelinePlugin", "PluginHost", "Vips",
        "Zimg",
      ],
      defining: hasMetadata ? "METADATA" : nil),
    tests("ProgramTests", ["Files", "Fixtures", "PipelineModel", "pipeline"]),
    tests(
      "EndToEndTests", ["Files", "Fixtures", "Hashing", "PipelineModel", "Vips"],
      defining: hasMetadata ? "METADATA" : nil),
  ]
)

// The plugin that reads metadata is left out where its library is not installed.
if hasMetadata {
  package.products.append(
    .library(name: "pipeline-metadata", type: .dynamic, targets: ["Metadata"]))
  package.targets += [
    system("CGexiv2", pkgConfig: "gexiv2", apt: "libgexiv2-dev"),
    plugin("Metadata", ["CGexiv2", "Containers", "PipelineModel", "PipelinePlugin"]),
  ]
}
