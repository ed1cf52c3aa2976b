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

func target(
  _ name: String, _ dependencies: [Target.Dependency], in folder: String
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)",
    swiftSettings: swift)
}

func plugin(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Plugins/\(name)", swiftSettings: swift)
}

func decoder(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Decoders/\(name)", swiftSettings: swift)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], defining condition: String? = nil
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies,
    swiftSettings: swift + (condition.map { [.define($0)] } ?? []))
}

func system(_ name: String, pkgConfig: String? = nil, apt: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/CLibraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

let hasMetadata = isInstalled("gexiv2")

let package = Package(
  name: "pipeline",
  products: [
    .executable(name: "pipeline", targets: ["pipeline"]),
    // What `pipeline serve` starts: a program of its own, so that no other verb loads libmicrohttpd.
    .executable(name: "pipeline-web", targets: ["pipeline-web"]),
    // What a Swift plugin author depends on.
    .library(name: "PipelinePlugin", targets: ["PipelinePlugin"]),
    // What another program depends on to read and change a library.
    .library(name: "PipelineLibrary", targets: ["PipelineLibrary"]),
    // Bundled plugins: shared libraries that the program loads at run time.
    .library(name: "pipeline-identify", type: .dynamic, targets: ["Identify"]),
    .library(name: "pipeline-thumbnail", type: .dynamic, targets: ["Thumbnail"]),
    .library(name: "pipeline-command", type: .dynamic, targets: ["Command"]),
    .library(name: "pipeline-motion", type: .dynamic, targets: ["Motion"]),
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
    system("CPictureDecoder", apt: "libc6-dev"),
    system("CUtf8proc", apt: "libutf8proc-dev"),
    system("CMagic", pkgConfig: "libmagic", apt: "libmagic-dev"),
    system("CSandbox", pkgConfig: "libseccomp", apt: "libseccomp-dev"),
    system("CCurl", apt: "libcurl4-openssl-dev"),
    system("CExpat", apt: "libexpat1-dev"),
    // Without flags of pkg-config, as it is opened at run time and not linked.
    system("CPostgreSQL", apt: "libpq-dev"),
    system("CMicroHTTPD", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    // The C ABI of a plugin: one header, and the name of the Swift toolchain.
    .target(name: "CPipelinePlugin", path: "Sources/PluginKit/CPipelinePlugin"),

    // Values without I/O.
    target("PipelineModel", [], in: "Base"),
    // The SDK of plugin authors, and the messages that host and plugin exchange.
    target("PipelinePlugin", ["CPipelinePlugin", "PipelineModel"], in: "PluginKit"),
    // SHA-256 by libcrypto.
    target("Hashing", ["CCrypto", "PipelineModel"], in: "Base"),
    // zlib's formats.
    target("Compression", ["CZlib"], in: "Base"),
    // Starting programs, for the program and the plugin that runs them.
    target("Spawn", ["CSpawn", "PipelineModel"], in: "Base"),
    // The edge to the kernel.
    target("Files", ["CLinux", "Hashing", "PipelineModel", "Spawn"], in: "Base"),
    // What a worker gives up before it loads a plugin.
    target("Sandbox", ["CSandbox", "Files", "PipelineModel"], in: "Stages"),
    // Objects on a server with the S3 API: signed requests by libcurl, answers read by expat.
    target(
      "ObjectStorage", ["CCurl", "CExpat", "Files", "Hashing", "PipelineModel"], in: "Library"),
    // The stores of originals: a content-addressed tree, or a bucket.
    target("Originals", ["Files", "Hashing", "ObjectStorage", "PipelineModel"], in: "Library"),
    // Renditions as files, or as objects of a bucket.
    target(
      "Renditions", ["Files", "Hashing", "ObjectStorage", "Originals", "PipelineModel"],
      in: "Library"),
    // The append-only journal of taking and deleting.
    target("Manifest", ["Files", "Hashing", "PipelineModel"], in: "Library"),
    // What users ask for: the words of queries, and which assets they find.
    target("Query", ["CUtf8proc", "PipelineModel"], in: "Library"),
    // Records, searches and ledger: values, errors and protocols, without a database.
    target("Records", ["PipelineModel", "Query"], in: "Library"),
    // Statements to a PostgreSQL server, by libpq.
    target("PostgreSQL", ["CPostgreSQL", "Files", "PipelineModel"], in: "Library"),
    // Records and ledger in SQLite or PostgreSQL.
    target(
      "Catalog",
      ["CSQLite", "Files", "Hashing", "PipelineModel", "PostgreSQL", "Query", "Records"],
      in: "Library"),
    // pipeline.json.
    target("Configuration", ["Files", "PipelineModel"], in: "Base"),
    // From a source to a stored, recorded original.
    target(
      "Ingest",
      [
        "Catalog", "Configuration", "Files", "Hashing", "Manifest", "ObjectStorage", "Originals",
        "PipelineModel", "Query", "Records", "Renditions",
      ], in: "Library"),
    // Requests to the process that holds a library, and what they and its answers look like.
    target(
      "LibraryControl", ["Catalog", "Files", "Ingest", "PipelineModel", "Records"], in: "Library"),
    // A library for another program: finding assets, reading their bytes, changing what is said; the
    // program makes pictures.
    target(
      "PipelineLibrary",
      [
        "Catalog", "Files", "Ingest", "LibraryControl", "PipelineModel", "Query", "Records",
        "Spawn",
      ],
      in: "Library"),
    // From originals and renditions to files for people and other programs.
    target(
      "Export",
      ["Catalog", "Files", "Hashing", "Ingest", "Originals", "PipelineModel", "Query", "Records"],
      in: "Library"),
    // Plugins, loaded into this process or run in sandboxed workers; knows neither catalog nor store.
    target(
      "PluginHost",
      [
        "Configuration", "CPipelinePlugin", "Files", "PipelineModel", "PipelinePlugin", "Sandbox",
      ], in: "Stages"),
    // From a ledger row to facts and renditions: which job runs when, and what becomes of it.
    target(
      "Engine",
      [
        "Configuration", "Files", "Hashing", "Originals", "PipelineModel",
        "PipelinePlugin", "PluginHost", "Records", "Renditions",
      ], in: "Stages"),
    // What files carry beside pixels, found by walking their containers; for the bundled plugins.
    target("Containers", ["Compression"], in: "Pictures"),
    // What libvips' loaders don't tell or don't read, by libjpeg, libtiff and zlib.
    .target(
      name: "CPictureLoaders", dependencies: ["CVips"], path: "Sources/Pictures/CPictureLoaders",
      linkerSettings: [.linkedLibrary("jpeg"), .linkedLibrary("tiff"), .linkedLibrary("z")]),
    // Decoders in shared libraries of their own, as the bundled plugins and as they see it.
    target("PictureDecoding", ["Containers", "CPictureDecoder", "PipelineModel"], in: "Pictures"),
    // libvips for the bundled plugins; the program itself does not link it.
    target("Vips", ["Containers", "CPictureLoaders", "CVips"], in: "Pictures"),
    // zimg for the bundled plugins: resampling with the processor's vector instructions.
    target("Zimg", ["CZimg"], in: "Pictures"),
    // What plugin authors are given: skeletons, and checks of what every plugin must do.
    .target(
      name: "PluginTesting",
      dependencies: [
        "Configuration", "Files", "Hashing", "PipelineModel", "PipelinePlugin", "PluginHost",
      ],
      path: "Sources/Stages/PluginTesting",
      // What `plugins new` writes, and what `plugins test` gives to a plugin.
      resources: [.embedInCode("Templates"), .embedInCode("Samples")],
      swiftSettings: swift),
    // A library at work, for the command line or another program: its lock, runs and watches, and
    // requests of other processes.
    target(
      "LibrarySession",
      [
        "Catalog", "Configuration", "Engine", "Export", "Files", "Hashing", "Ingest",
        "LibraryControl", "Manifest", "Originals", "PipelineModel", "PipelinePlugin", "PluginHost",
        "Query", "Records", "Renditions",
      ], in: "Program"),
    // A library in a browser: the process that answers HTTP, in a sandbox.
    .target(
      name: "Web",
      dependencies: [
        "Catalog", "CMicroHTTPD", "Compression", "Files", "Hashing", "Ingest", "LibrarySession",
        "PipelineModel", "Query", "Records", "Sandbox",
      ],
      path: "Sources/Program/Web",
      // Style sheet, scripts and icon.
      resources: [.embedInCode("Pages")],
      swiftSettings: swift),
    .executableTarget(
      name: "pipeline-web", dependencies: ["Web"], path: "Sources/Program/pipeline-web",
      swiftSettings: swift),
    // Whether this machine and the configured plugins are fit.
    target(
      "Doctor",
      [
        "Catalog", "Configuration", "Engine", "Files", "Hashing", "Ingest", "LibrarySession",
        "PipelineModel", "PipelinePlugin", "PluginHost", "PluginTesting", "Records", "Sandbox",
      ], in: "Program"),
    // The command line.
    .executableTarget(
      name: "pipeline",
      dependencies: [
        "Catalog", "Configuration", "Doctor", "Engine", "Export", "Files", "Ingest",
        "LibraryControl", "LibrarySession", "PipelineModel", "PipelinePlugin", "PluginHost",
        "PluginTesting", "Query", "Records",
      ],
      path: "Sources/Program/pipeline",
      swiftSettings: swift),

    // Draws pictures for `make run` and `make bench`; not installed.
    .executableTarget(
      name: "sample-pictures", dependencies: ["Files", "PipelineModel", "Vips"],
      path: "Sources/Pictures/SamplePictures", swiftSettings: swift),

    // Bundled plugins.
    plugin(
      "Identify",
      ["CMagic", "Containers", "PictureDecoding", "PipelineModel", "PipelinePlugin", "Vips"]),
    plugin("Command", ["PipelineModel", "PipelinePlugin", "Spawn"]),
    plugin("Motion", ["Containers", "PipelineModel", "PipelinePlugin"]),
    plugin(
      "Thumbnail",
      ["Containers", "PictureDecoding", "PipelineModel", "PipelinePlugin", "Vips", "Zimg"]),

    // Tests. `Fixtures` makes pictures, folders and runs of the built program.
    .target(
      name: "Fixtures",
      dependencies: [
        "Containers", "Files", "ObjectStorage", "PipelineModel", "PostgreSQL", "Spawn", "Vips",
      ],
      path: "Tests/Fixtures",
      swiftSettings: swift),
    tests("PipelineModelTests", ["PipelineModel", "PipelinePlugin"]),
    tests(
      "FilesTests",
      [
        "Files", "Fixtures", "Hashing", "ObjectStorage", "Originals", "PipelineModel", "Renditions",
      ]),
    tests(
      "ObjectStorageTests",
      ["Files", "Fixtures", "Hashing", "ObjectStorage", "Originals", "PipelineModel"]),
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
        "Originals", "PipelineModel", "Records",
      ]),
    tests(
      "EngineTests",
      [
        "Catalog", "Configuration", "Engine", "Files", "Fixtures", "Hashing", "Originals",
        "PipelineModel", "PipelinePlugin", "PluginHost", "Records", "Renditions", "Sandbox",
      ]),
    // Feeds generated messages of plugins to what reads them; only `make fuzz` starts it.
    .executableTarget(
      name: "plugin-fuzz",
      dependencies: [
        "Configuration", "Files", "Fixtures", "PipelineModel", "PipelinePlugin", "PluginHost",
      ],
      path: "Tests/PluginFuzz", swiftSettings: swift),
    tests("PostgreSQLTests", ["Fixtures", "PipelineModel", "PostgreSQL"]),
    tests("QueryTests", ["PipelineModel", "Query"]),
    tests("PipelineLibraryTests", ["PipelineLibrary", "PipelineModel", "Query"]),
    tests("ExportTests", ["Export", "Files", "Fixtures", "Hashing", "PipelineModel", "Query"]),
    tests(
      "CatalogTests",
      ["Catalog", "Fixtures", "Hashing", "PipelineModel", "PostgreSQL", "Query", "Records"]),
    tests("ConfigurationTests", ["Configuration", "Fixtures", "PipelineModel"]),
    tests(
      "PluginTests",
      [
        "Containers", "Engine", "Fixtures", "PictureDecoding", "PipelineModel", "PipelinePlugin",
        "PluginHost", "Vips", "Zimg",
      ],
      defining: hasMetadata ? "METADATA" : nil),
    tests(
      "LibrarySessionTests",
      [
        "Catalog", "Configuration", "Engine", "Files", "Fixtures", "Hashing", "Ingest",
        "LibraryControl", "LibrarySession", "Originals", "PipelineModel", "Records",
      ]),
    // A process that edits a library by `PipelineLibrary`, to be killed; only tests start it.
    .executableTarget(
      name: "edit-probe", dependencies: ["PipelineLibrary"], path: "Tests/EditProbe",
      swiftSettings: swift),
    // Compares fetches of `PipelineLibrary` with SQL written by hand; only `make searches` starts it.
    .executableTarget(
      name: "fetch-probe", dependencies: ["CSQLite", "PipelineLibrary"],
      path: "Benchmarks/FetchProbe", swiftSettings: swift),
    // Claims and completes jobs without plugins; only `make bench-cluster` starts it.
    .executableTarget(
      name: "ledger-probe", dependencies: ["Catalog", "Hashing", "PipelineModel", "Records"],
      path: "Benchmarks/LedgerProbe", swiftSettings: swift),
    // Stores and gets originals without a library; only `make bench-bucket` starts it.
    .executableTarget(
      name: "bucket-probe",
      dependencies: ["Files", "Hashing", "ObjectStorage", "Originals", "PipelineModel"],
      path: "Benchmarks/BucketProbe", swiftSettings: swift),
    tests("ProgramTests", ["PipelineModel", "pipeline"]),
    tests(
      "WebTests",
      [
        "Catalog", "Compression", "Configuration", "Files", "Fixtures", "Hashing", "Ingest",
        "LibrarySession", "PipelineModel", "Query", "Records", "Web",
      ]),
    tests(
      "DoctorTests",
      ["Doctor", "Files", "Fixtures", "LibrarySession", "PipelineModel"]),
    tests(
      "EndToEndTests",
      [
        "Catalog", "edit-probe", "Files", "Fixtures", "Hashing", "Ingest", "ObjectStorage",
        "pipeline-web", "PipelineLibrary", "PipelineModel", "PostgreSQL", "Records", "Vips",
      ],
      defining: hasMetadata ? "METADATA" : nil),
  ]
)

// What needs a library that is not installed is left out: a plugin, or a decoder for the bundled ones.
if hasMetadata {
  package.products.append(
    .library(name: "pipeline-metadata", type: .dynamic, targets: ["Metadata"]))
  package.targets += [
    system("CGexiv2", pkgConfig: "gexiv2", apt: "libgexiv2-dev"),
    plugin("Metadata", ["CGexiv2", "Containers", "PipelineModel", "PipelinePlugin"]),
  ]
}
if isInstalled("libavformat") {
  package.products.append(
    .library(name: "picture-decoder-video", type: .dynamic, targets: ["VideoDecoder"]))
  package.targets += [
    system("CLibAV", pkgConfig: "libavformat", apt: "libavformat-dev"),
    decoder("VideoDecoder", ["CLibAV", "CPictureDecoder", "PictureDecoding", "PipelineModel"]),
    tests(
      "VideoDecoderTests",
      ["CLibAV", "Fixtures", "PictureDecoding", "PipelineModel", "VideoDecoder"]),
  ]
}
if isInstalled("libraw") {
  package.products.append(
    .library(name: "picture-decoder-raw", type: .dynamic, targets: ["RawDecoder"]))
  package.targets += [
    system("CLibRaw", pkgConfig: "libraw", apt: "libraw-dev"),
    decoder(
      "RawDecoder",
      ["CLibRaw", "Containers", "CPictureDecoder", "PictureDecoding", "PipelineModel"]),
    tests("RawDecoderTests", ["Containers", "Fixtures", "PictureDecoding", "PipelineModel"]),
  ]
}
if isInstalled("libopenjp2") {
  package.products.append(
    .library(name: "picture-decoder-openjpeg", type: .dynamic, targets: ["OpenJPEGDecoder"]))
  package.targets += [
    system("COpenJPEG", pkgConfig: "libopenjp2", apt: "libopenjp2-7-dev"),
    decoder(
      "OpenJPEGDecoder",
      ["Containers", "COpenJPEG", "CPictureDecoder", "PictureDecoding", "PipelineModel"]),
    tests(
      "OpenJPEGDecoderTests",
      ["Containers", "COpenJPEG", "Fixtures", "PictureDecoding", "PipelineModel"]),
  ]
}
if isInstalled("MagickCore") {
  package.products.append(
    .library(name: "picture-decoder-magick", type: .dynamic, targets: ["MagickDecoder"]))
  package.targets += [
    system("CMagickCore", pkgConfig: "MagickCore", apt: "libmagickcore-dev"),
    decoder(
      "MagickDecoder",
      ["CMagickCore", "Containers", "CPictureDecoder", "PictureDecoding", "PipelineModel"]),
    tests("MagickDecoderTests", ["Containers", "PictureDecoding", "PipelineModel"]),
  ]
}
