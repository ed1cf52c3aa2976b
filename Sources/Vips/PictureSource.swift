internal import CVips

/// Bytes that a loader reads from: an open file, or memory.
package final class PictureSource {
  let pointer: UnsafeMutablePointer<VipsSource>
  // Keeps the bytes of a memory source in place for as long as libvips may read them.
  private let storage: UnsafeMutableRawBufferPointer?

  /// Makes a source over an open file; libvips works on a duplicate of the descriptor.
  package init(_ file: PictureFile) throws(VipsError) {
    try VipsLibrary.start()
    guard let pointer = vips_source_new_from_descriptor(file.descriptor) else {
      throw .current("The file can't be read")
    }
    self.pointer = pointer
    storage = nil
  }

  /// Makes a source over a copy of some bytes.
  package init(bytes: [UInt8]) throws(VipsError) {
    try VipsLibrary.start()
    let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    storage.copyBytes(from: bytes)
    guard let pointer = vips_source_new_from_memory(storage.baseAddress, bytes.count) else {
      storage.deallocate()
      throw .current("The bytes can't be read")
    }
    self.pointer = pointer
    self.storage = storage
  }

  deinit {
    pipeline_vips_release(pointer)
    storage?.deallocate()
  }

  /// Finds the loader that recognises the content.
  ///
  /// - Throws: `VipsError` of code `undecodable` if no loader on the allow-list does.
  package func loader() throws(VipsError) -> PictureLoader {
    guard let name = vips_foreign_find_load_source(pointer) else {
      _ = VipsError.takeBuffer()
      throw Self.unknownContent
    }
    guard let loader = PictureLoader(className: String(cString: name)) else {
      throw Self.unknownContent
    }
    return loader
  }

  private static let unknownContent = VipsError(
    .undecodable, "The content is of no kind that is decoded")
}
