// swift-tools-version: 6.2
import PackageDescription

// A program of its own that reads a library.
let package = Package(
  name: "find-pictures",
  dependencies: [.package(name: "pipeline", path: "../..")],
  targets: [
    .executableTarget(
      name: "find-pictures",
      dependencies: [.product(name: "PipelineLibrary", package: "pipeline")])
  ])
