internal import CVips
internal import Glibc

/// Bytes that a loader reads from: an open file, or memory.
package final class PictureSource {
  let pointer: UnsafeMutablePointer<VipsSource>
  // Keeps the bytes of a memory source in place for as long as libvips may read them.
  private let storage: UnsafeMutableRawBufferPointer?
  private let size: Int

  /// Makes a source over an open file; libvips works on a duplicate of the descriptor.
  package init(_ file: PictureFile) throws(VipsError) {
    try VipsLibrary.start()
    guard let pointer = vips_source_new_from_descriptor(file.descriptor) else {
      throw .current("The file can't be read")
    }
    self.pointer = pointer
    storage = nil
    size = file.size
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
    size = bytes.count
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
    // Loaders take bytes that can't be read for bytes of another kind.
    let head = head()
    guard !head.isEmpty || size < Self.headLength, !isPlain(head) else {
      throw VipsError(.inputOutput, "The file can't be read", errno: EIO)
    }
    if let kind = PictureLoader.signature(head), !VipsLibrary.loaders.contains(kind) {
      throw VipsError(.missing, "This libvips was built without \(kind.title)")
    }
    throw VipsError(.undecodable, "The content is of no kind that is decoded")
  }

  /// Whether the bytes are of a kind that loaders tell by nothing but these bytes.
  private func isPlain(_ head: [UInt8]) -> Bool {
    head.starts(with: [0xFF, 0xD8, 0xFF])
      || head.starts(with: [0x89] + Array("PNG\r\n\u{1A}\n".utf8))
  }

  private static let headLength = 12

  private func head() -> [UInt8] {
    guard let start = vips_source_sniff(pointer, Self.headLength) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Self.headLength))
  }
}
