package import PipelineModel

/// What the names of files that belong together have in common.
///
/// `DCIM/IMG_1` of `IMG_1.CR3`, `IMG_1.JPG`, `IMG_1.JPG.xmp`, `IMG_1.xmp` and `IMG_1.JPG.RAF` in `DCIM`.
/// Case counts, except in extensions; bytes that are not UTF-8 are compared as they are.
package struct NameStem: Hashable {
  /// The path below the source, without the extensions.
  let path: [UInt8]

  /// - Parameter path: the path without extensions.
  init(_ path: [UInt8]) { self.path = path }

  init(of path: BytePath) {
    var bytes = path.bytes[...]
    while let shorter = Self.withoutExtension(bytes) { bytes = shorter }
    self.path = Array(bytes)
  }

  /// The paths that may have this stem: the stem itself, and what lies between these two. A slash is the
  /// next byte after a full stop.
  var extended: (from: [UInt8], to: [UInt8]) {
    (path + [UInt8(ascii: ".")], path + [UInt8(ascii: "/")])
  }

  /// A path or name without its last extension; `nil` if it has none that is known.
  ///
  /// What is unknown belongs to the name: the `2` of `1.2.jpg`.
  static func withoutExtension(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > path.startIndex,
      path[dot - 1] != UInt8(ascii: "/"), path.endIndex - dot <= 6,
      extensions.contains(lowercased(path[(dot + 1)...]))
    else { return nil }
    return path[..<dot]
  }

  /// Whether a path ends in `.xmp`.
  package static func isSidecar(_ path: BytePath) -> Bool {
    lowercased(path.bytes.suffix(4)) == ".xmp"
  }

  /// A file's name with its extensions in lower case, so that `a.JPG` and `a.jpg` are one.
  static func name(_ path: BytePath) -> [UInt8] {
    let name = path.lastComponent.bytes
    var stem = name[...]
    while let shorter = withoutExtension(stem) { stem = shorter }
    // Known extensions are ASCII.
    return stem + name[stem.endIndex...].map { (65...90).contains($0) ? $0 + 32 : $0 }
  }

  private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self).lowercased()
  }

  private static let extensions: Set<String> = [
    "xmp",
    // Pictures.
    "jpg", "jpeg", "jpe", "heic", "heif", "hif", "avif", "jxl", "png", "tif", "tiff", "webp", "gif",
    "psd", "bmp", "jp2", "pdf",
    // Raw files. Source: LibRaw's list of cameras, darktable's list of extensions.
    "3fr", "arw", "cr2", "cr3", "crw", "dcr", "dng", "erf", "fff", "gpr", "iiq", "k25", "kdc",
    "mef",
    "mos", "mrw", "nef", "nrw", "orf", "pef", "raf", "raw", "rw2", "rwl", "sr2", "srf", "srw",
    "x3f",
    // Films and sound.
    "mov", "mp4", "m4v", "avi", "mts", "m2ts", "3gp", "mpg", "mpeg", "wav", "mp3", "m4a",
  ]
}
