import CGexiv2
import Glibc

/// The metadata of one file, as read by gexiv2; used only under the lock of `MetadataLibrary`.
final class MetadataFile {
  enum Refusal: Error {
    /// The library has no reader for this type of file.
    case unknownKind
    /// The file's structure is damaged; the value is the library's message.
    case damaged(String)

    /// Whether the library has no reader, which does not mean damage.
    var isUnknownKind: Bool {
      if case .unknownKind = self { true } else { false }
    }
  }

  /// The kinds of metadata that the library distinguishes.
  enum Family { case exif, iptc, xmp }

  /// The most bytes of a value that is read, because its text would be several times as long.
  private static let greatestValue = 1 << 16

  private let handle: UnsafeMutablePointer<GExiv2Metadata>

  /// Reads the metadata of the file at an absolute path.
  convenience init(path: String) throws(Refusal) {
    try self.init(hiding: path) { gexiv2_metadata_open_path($0, path, $1) }
  }

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
    // The error's number differs between exiv2 series; its message does not.
    if message.contains("unknown image type") { throw .unknownKind }
    throw .damaged(path.map { message.replacing($0, with: "the file") } ?? message)
  }

  deinit { pipeline_gexiv2_release(handle) }

  func has(_ family: Family) -> Bool {
    switch family {
    case .exif: gexiv2_metadata_has_exif(handle) != 0
    case .iptc: gexiv2_metadata_has_iptc(handle) != 0
    case .xmp: gexiv2_metadata_has_xmp(handle) != 0
    }
  }

  /// The existing keys, such as `Exif.Photo.FNumber`, sorted and without duplicates.
  ///
  /// - Parameter limit: the most keys to return; looking one up takes time linear in their number.
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

  /// A tag's standard type, such as `Rational`; empty if no standard defines it.
  func type(_ key: String) -> String {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    return gexiv2_metadata_try_get_tag_type(key, &failure).map { String(cString: $0) } ?? ""
  }

  /// Whether a standard allows a tag to repeat.
  func repeats(_ key: String) -> Bool {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    return gexiv2_metadata_try_tag_supports_multiple_values(handle, key, &failure) != 0
  }

  /// A value's bytes, or `nil` if there is none or it is too long.
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

  /// A value as the library prints it, up to the first NUL.
  func text(_ key: String) -> [UInt8]? {
    var failure: UnsafeMutablePointer<GError>?
    defer { g_clear_error(&failure) }
    guard let text = gexiv2_metadata_try_get_tag_string(handle, key, &failure) else { return nil }
    defer { g_free(text) }
    return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  /// All values of a tag that is repeated or an array, in order.
  ///
  /// - Parameter limit: the most values to return.
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
