package import Files
package import PipelineModel

/// The files of a working plugin for its author to change.
package struct PluginSkeleton {
  /// A file, at the top level or in one subfolder.
  package struct File {
    package let path: BytePath
    let bytes: [UInt8]
    var mode: UInt32 = 0o644
  }

  package let files: [File]
  /// The command that builds it, run in its folder; `nil` if it needs no build.
  package let build: String?
  /// The path to pass to `plugins test`, relative to its folder.
  package let product: String

  /// Makes the files of a plugin.
  package init(id: String, language: PluginLanguage) {
    let type = Self.typeName(id)
    func file(_ path: String, _ template: [UInt8], mode: UInt32 = 0o644) -> File {
      let text = String(decoding: template, as: UTF8.self)
        .replacing("@ID@", with: id).replacing("@TYPE@", with: type)
      return File(path: BytePath(path), bytes: Array(text.utf8), mode: mode)
    }
    switch language {
    case .c:
      files = [
        file("\(id).c", PackageResources.plugin_c_template),
        File(path: "pipeline_plugin.h", bytes: PackageResources.pipeline_plugin_h),
        file("Makefile", PackageResources.Makefile_template),
        file("README.md", PackageResources.README_c_md_template),
      ]
      build = "make"
      product = "./libpipeline-\(id).so"
    case .python:
      files = [
        file("\(id).py", PackageResources.plugin_py_template, mode: 0o755),
        File(path: "pipeline_plugin.py", bytes: PackageResources.pipeline_plugin_py),
        file("README.md", PackageResources.README_py_md_template),
      ]
      build = nil
      product = "./\(id).py"
    case .swift:
      files = [
        file("Package.swift", PackageResources.Package_swift_template),
        file("Sources/\(type).swift", PackageResources.plugin_swift_template),
        file("README.md", PackageResources.README_swift_md_template),
      ]
      build = "swift build -c release"
      product = ".build/release/libpipeline-\(id).so"
    }
  }

  /// Writes the files into an empty folder.
  package func write(into folder: Descriptor) throws(FileError) {
    for file in files {
      var place = folder
      for part in file.path.components.dropLast() {
        try place.makeFolder(part, mode: 0o755)
        place = try .openFolder(part, in: place)
      }
      try place.writeDurably(file.bytes, as: file.path.lastComponent, mode: file.mode)
    }
  }

  /// The name of the Swift type for an id: `average-colour` makes `AverageColourPlugin`.
  static func typeName(_ id: String) -> String {
    let words = id.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
    let name = words.joined() + "Plugin"
    // A name can't begin with a digit.
    return name.first?.isNumber == true ? "_" + name : name
  }
}

/// A language for which `plugins new` has a skeleton.
package enum PluginLanguage: String, CaseIterable {
  case swift, c, python

  /// The names as listed in a sentence.
  package static var choice: String { "swift, c or python" }
}
