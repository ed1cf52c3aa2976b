import CGexiv2
import Glibc

/// The metadata of one file, as gexiv2 gives them; used under the lock of `MetadataLibrary` only.
final class MetadataFile {
  /// Why a file can't be read.
  enum Refusal: Error {
    /// The library has no reader for this kind of file.
    case unknownKind
    /// The file's structure is damaged; the library's words.
    case damaged(String)

    /// Whether there is no reader, which says nothing against the file.
    var isUnknownKind: Bool {
      if case .unknownKind = self { true } else { false }
    }
  }

  /// The kinds of metadata that the library tells apart.
  enum Family { case exif, iptc, xmp }

  /// Bytes of a value beyond which it is not looked at: a text of it would be several times as long.
  private static let greatestValue = 1 << 16

  private let handle: UnsafeMutablePointer<GExiv2Metadata>

  /// Reads the metadata of the file at an absolute path.
  convenience init(path: String) throws(Refusal) {
    try self.init(hiding: path) { gexiv2_metadata_open_path($0, path, $1) }
  }

  /// Reads the metadata of a file in memory.
  convenience init(bytes: [UInt8]) throws(Refusal) {
    try self.init(hiding: nil) { gexiv2_metadata_open_buf($0, bytes, glong(bytes.count), $1) }
  }

  private init(
    hiding path: String?,
    open: (
      UnsafeMutablePointer<GExiv2Metadata>, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>
    ) -> gboolean
  ) throws(Refusal) {
    guard let handle = gexiv2_metadata_new() else { throw .damaged("no memory") }
    self.handle = handle
    var failure: UnsafeMutablePointer<GError>?
    guard open(handle, &failure) == 0 else { return }
    defer { g_clear_error(&failure) }
    let message = failure?.pointee.message.map { String(cString: $0) } ?? "no reason given"
    // The number behind this message is another in each series of exiv2; the words are not.
    if message.contains("unknown image type") { throw .unknownKind }
    throw .damaged(path.map { message.replacing($0, with: "the file") } ?? message)
  }

  deinit { pipeline_gexiv2_release(handle) }

  /// Whether anything of a family is there.
  func has(_ family: Family) -> Bool {
    switch family {
    case .exif: gexiv2_metadata_has_exif(handle) != 0
    case .iptc: gexiv2_metadata_has_iptc(handle) != 0
    case .xmp: gexiv2_metadata_has_xmp(handle) != 0
    }
  }

  /// The keys that are there, such as `Exif.Photo.FNumber`, sorted, each once.
  ///
  /// - Parameter limit: how many at most; looking one up takes as long as there are many.
  func keys(_ family: Family, limit: Int) -> (keys: [String], left: Int) {
    let list =
      switch family {
      case .exif: gexiv2_metadata_get_exif_tags(handle)
      case .iptc: gexiv2_metadata_get_iptc_tags(handle)
      case .xmp: gexiv2_metadata_get_xmp_tags(handle)
      }
    guard let list else { return ([], 0) }
    defer { g_strfreev(list) }
    var keys: [String] = []
    var left = 0
    var next = list
    while let key = next.pointee {
      let text = String(cString: key)
      if keys.last != text {
        if keys.count < limit { keys.append(text) } else { left += 1 }
      }
      next += 1
    }
    return (keys, left)
  }

  /// The type that a standard gives a tag, such as `Rational`; empty where none knows it.
  func type(_ key: String) -> String {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    return gexiv2_metadata_try_get_tag_type(key, &failure).map { String(cString: $0) } ?? ""
  }

  /// Whether a standard lets a tag be there more than once.
  func repeats(_ key: String) -> Bool {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    return gexiv2_metadata_try_tag_supports_multiple_values(handle, key, &failure) != 0
  }

  /// A value's bytes, or `nil` if there is none or it is longer than anything that is kept.
  func bytes(_ key: String) -> [UInt8]? {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    guard let block = gexiv2_metadata_try_get_tag_raw(handle, key, &failure) else { return nil }
    defer { g_bytes_unref(block) }
    var count: gsize = 0
    guard let start = g_bytes_get_data(block, &count), count <= Self.greatestValue else {
      return nil
    }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
  }

  /// A value as the library writes it, up to the first NUL.
  func text(_ key: String) -> [UInt8]? {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    guard let text = gexiv2_metadata_try_get_tag_string(handle, key, &failure) else { return nil }
    defer { g_free(text) }
    return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  /// All values of a tag that is repeated or an array, in their order.
  ///
  /// - Parameter limit: how many at most.
  func values(_ key: String, limit: Int) -> (values: [[UInt8]], left: Int) {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    guard let list = gexiv2_metadata_try_get_tag_multiple(handle, key, &failure) else {
      return ([], 0)
    }
    defer { g_strfreev(list) }
    var values: [[UInt8]] = []
    var left = 0
    var next = list
    while let text = next.pointee {
      if values.count < limit {
        values.append(Array(UnsafeRawBufferPointer(start: text, count: strlen(text))))
      } else {
        left += 1
      }
      next += 1
    }
    return (values, left)
  }
}
