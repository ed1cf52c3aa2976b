import Compression
import Hashing
import PipelineModel

/// The style sheet, scripts and icon, which are parts of the program.
enum StaticFiles {
  struct File: Sendable {
    let type: String
    let plain: ResponseBytes
    /// `nil` if it is no shorter.
    let packed: ResponseBytes?

    init(_ type: String, _ bytes: [UInt8]) {
      self.type = type
      plain = ResponseBytes(bytes)
      packed = Zlib.gzip(bytes).flatMap { $0.count < bytes.count ? ResponseBytes($0) : nil }
    }
  }

  /// All files by name. Modules import each other by relative URLs, so all have one folder.
  private static let sources: [(name: String, bytes: [UInt8])] = [
    ("api.js", PackageResources.api_js), ("app.css", PackageResources.app_css),
    ("app.js", PackageResources.app_js), ("dom.js", PackageResources.dom_js),
    ("facts.js", PackageResources.facts_js), ("grid.js", PackageResources.grid_js),
    ("help.js", PackageResources.help_js), ("icon.svg", PackageResources.icon_svg),
    ("layout.js", PackageResources.layout_js), ("records.js", PackageResources.records_js),
    ("scrubber.js", PackageResources.scrubber_js), ("search.js", PackageResources.search_js),
    ("slide.js", PackageResources.slide_js), ("track.js", PackageResources.track_js),
    ("viewer.js", PackageResources.viewer_js), ("work.js", PackageResources.work_js),
  ]

  private static let files = Dictionary(
    uniqueKeysWithValues: sources.map { name, bytes in
      (name, File(type(of: name), compacted(name, bytes)))
    })

  /// What browsers need of a file.
  private static func compacted(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
    switch name.split(separator: ".").last {
    case "css": CompactSource.compact(bytes, .style)
    case "js": CompactSource.compact(bytes, .script)
    default: bytes
    }
  }

  /// The bytes of all scripts and styles: as browsers get them, and as clients that unpack nothing.
  static var size: (packed: Int, plain: Int) {
    files.reduce(into: (packed: 0, plain: 0)) { size, file in
      if file.key == "icon.svg" { return }
      size.plain += file.value.plain.count
      size.packed += file.value.packed?.count ?? file.value.plain.count
    }
  }

  /// Changes with any of the files.
  static let version = String(
    SHA256.digest(of: sources.flatMap { Array($0.name.utf8) + $0.bytes }).hex.prefix(16))

  static func file(_ name: String, version: String) -> File? {
    version == self.version ? files[name] : nil
  }

  static func has(_ name: String) -> Bool { files[name] != nil }

  /// The address of a file, relative to the base.
  static func url(of name: String) -> String { "static/\(version)/\(name)" }

  private static func type(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "svg": "image/svg+xml; charset=utf-8"
    default: BrowserType.download
    }
  }
}
