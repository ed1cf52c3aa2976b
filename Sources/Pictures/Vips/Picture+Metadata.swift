internal import CVips
internal import Glibc

extension Picture {
  /// Names of metadata items that this project reads.
  package enum Field {
    package static let exif = VIPS_META_EXIF_NAME
    package static let profile = VIPS_META_ICC_NAME
    /// The preview in the EXIF block.
    package static let preview = "jpeg-thumbnail-data"
  }

  package var fields: [String] {
    guard let list = vips_image_get_fields(pointer) else { return [] }
    defer { g_strfreev(list) }
    var names: [String] = []
    var next = list
    while let name = next.pointee {
      names.append(String(cString: name))
      next += 1
    }
    return names
  }

  /// The bytes of a metadata item, or `nil` if there is none of that name.
  package func blob(_ name: String) -> [UInt8]? {
    guard vips_image_get_typeof(pointer, name) != 0 else { return nil }
    var start: UnsafeRawPointer?
    var length = 0
    guard vips_image_get_blob(pointer, name, &start, &length) == 0, let start else {
      _ = VipsError.drainBuffer()
      return nil
    }
    return Array(UnsafeRawBufferPointer(start: start, count: length))
  }

  package func integer(_ name: String) -> Int? {
    guard vips_image_get_typeof(pointer, name) != 0 else { return nil }
    var value: Int32 = 0
    guard vips_image_get_int(pointer, name, &value) == 0 else {
      _ = VipsError.drainBuffer()
      return nil
    }
    return Int(value)
  }

  /// The numbers of a metadata item; empty if there is none of that name.
  package func integers(_ name: String) -> [Int] {
    guard vips_image_get_typeof(pointer, name) != 0 else { return [] }
    var values: UnsafeMutablePointer<Int32>?
    var count: Int32 = 0
    guard vips_image_get_array_int(pointer, name, &values, &count) == 0, let values else {
      _ = VipsError.drainBuffer()
      return []
    }
    return UnsafeBufferPointer(start: values, count: Int(count)).map { Int($0) }
  }

  package func text(_ name: String) -> String? {
    guard vips_image_get_typeof(pointer, name) != 0 else { return nil }
    var value: UnsafeMutablePointer<CChar>?
    guard vips_image_get_as_string(pointer, name, &value) == 0, let value else {
      _ = VipsError.drainBuffer()
      return nil
    }
    defer { g_free(value) }
    return String(
      decoding: UnsafeRawBufferPointer(start: value, count: strlen(value)), as: UTF8.self)
  }

  /// The number of pages or frames in the file.
  package var pages: Int { max(1, Int(vips_image_get_n_pages(pointer))) }

  /// Whether the pixels come in several passes, so that none is final before the last byte.
  package var isInterlaced: Bool {
    integer("interlaced") == 1 || integer("jpeg-multiscan") == 1
  }

  /// Creates a copy whose metadata `change` edits.
  package func editingMetadata(_ change: (MetadataEditor) -> Void) throws(VipsError) -> Picture {
    let copy = try applying("The picture can't be copied") { pipeline_vips_copy(pointer, $0) }
    change(MetadataEditor(picture: copy))
    return copy
  }
}

/// Edits the metadata of a picture that is not shared yet.
package struct MetadataEditor {
  let picture: Picture

  package func remove(_ name: String) { vips_image_remove(picture.pointer, name) }

  /// Marks the pixels as upright in all metadata.
  package func markUpright() {
    vips_image_remove(picture.pointer, VIPS_META_ORIENTATION)
    vips_image_remove(picture.pointer, "exif-ifd0-Orientation")
  }

  /// Sets an item to a copy of bytes.
  package func set(_ name: String, _ bytes: [UInt8]) {
    vips_image_set_blob_copy(picture.pointer, name, bytes, bytes.count)
  }

  package func set(_ name: String, _ text: String) {
    vips_image_set_string(picture.pointer, name, text)
  }

  package func set(_ name: String, _ value: Int) {
    vips_image_set_int(picture.pointer, name, Int32(truncatingIfNeeded: value))
  }

  package func set(_ name: String, _ values: [Int]) {
    let values = values.map { Int32(truncatingIfNeeded: $0) }
    vips_image_set_array_int(picture.pointer, name, values, Int32(values.count))
  }
}
