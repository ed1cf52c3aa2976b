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
    switch language {
    case .c:
      files = [
        File(path: BytePath("\(id).c"), bytes: Self.filled(PackageResources.plugin_c_template, id)),
        File(path: "pipeline_plugin.h", bytes: PackageResources.pipeline_plugin_h),
        File(path: "Makefile", bytes: Self.filled(PackageResources.Makefile_template, id)),
        File(path: "README.md", bytes: Self.filled(PackageResources.README_c_md_template, id)),
      ]
      build = "make"
      product = "./libpipeline-\(id).so"
    case .python:
      files = [
        File(
          path: BytePath("\(id).py"), bytes: Self.filled(PackageResources.plugin_py_template, id),
          mode: 0o755),
        File(path: "pipeline_plugin.py", bytes: PackageResources.pipeline_plugin_py),
        File(path: "README.md", bytes: Self.filled(PackageResources.README_py_md_template, id)),
      ]
      build = nil
      product = "./\(id).py"
    case .swift:
      let type = Self.typeName(id)
      files = [
        File(
          path: "Package.swift", bytes: Self.filled(PackageResources.Package_swift_template, id)),
        File(
          path: BytePath("Sources/\(type).swift"),
          bytes: Self.filled(PackageResources.plugin_swift_template, id)),
        File(path: "README.md", bytes: Self.filled(PackageResources.README_swift_md_template, id)),
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

  /// Fills the plugin's names into a template.
  private static func filled(_ template: [UInt8], _ id: String) -> [UInt8] {
    let text = String(decoding: template, as: UTF8.self)
    return Array(text.replacing("@ID@", with: id).replacing("@TYPE@", with: typeName(id)).utf8)
  }
}
