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
  /// - Throws: `VipsError` of code `undecodable` if no loader on the allow-list
  ///   does, and `missing` if one would that this libvips doesn't have.
  package func loader() throws(VipsError) -> PictureLoader {
    if let name = vips_foreign_find_load_source(pointer),
      let loader = PictureLoader(className: String(cString: name))
    {
      return loader
    }
    _ = VipsError.takeBuffer()
    if let kind = PictureLoader.signature(head()), !VipsLibrary.loaders.contains(kind) {
      throw VipsError(.missing, "This libvips was built without \(kind.title)")
    }
    throw VipsError(.undecodable, "The content is of no kind that is decoded")
  }

  private func head() -> [UInt8] {
    let length = 12
    guard let start = vips_source_sniff(pointer, length) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: length))
  }
}
