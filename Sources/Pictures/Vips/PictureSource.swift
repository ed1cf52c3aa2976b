internal import CPictureLoaders
internal import CVips
internal import Glibc

/// Bytes for a loader: an open file, or memory.
package final class PictureSource {
  let pointer: UnsafeMutablePointer<VipsSource>
  // Keeps the bytes of a memory source in place while libvips may read them.
  private let storage: UnsafeMutableRawBufferPointer?
  private let size: Int
  /// The path of an open file, for loaders that read nothing else.
  let path: String?
  // The decoder of a JPEG's rows, once they are requested.
  private var jpeg: OpaquePointer?

  /// Creates a source for an open file; libvips uses a duplicate of the descriptor.
  package convenience init(_ file: PictureFile) throws(VipsError) {
    switch file.storage {
    case .descriptor(let descriptor, let path):
      try self.init(descriptor: descriptor, size: file.size, path: path)
    case .memory(let bytes): try self.init(bytes: bytes)
    }
  }

  private init(descriptor: Int32, size: Int, path: String) throws(VipsError) {
    try VipsLibrary.start()
    guard let pointer = vips_source_new_from_descriptor(descriptor) else {
      throw .current("The file can't be read")
    }
    self.pointer = pointer
    storage = nil
    self.size = size
    self.path = path
  }

  /// Creates a source for a copy of bytes.
  package init(bytes: [UInt8]) throws(VipsError) {
    try VipsLibrary.start()
    path = nil
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
    if let jpeg { pipeline_jpeg_release(jpeg) }
    pipeline_vips_release(pointer)
    storage?.deallocate()
  }

  /// Finds the loader that recognises the content.
  ///
  /// - Throws: `VipsError` of code `undecodable` if no allowed loader does, and `missing` if the
  ///   loader is not in this libvips.
  package func loader() throws(VipsError) -> PictureLoader {
    let signed = PictureLoader.signature(head())
    let present = signed.flatMap { VipsLibrary.loaders.contains($0) ? $0 : nil }
    // libvips recognises these by their file only.
    if let loader = present, loader.needsPath { return loader }
    if let name = vips_foreign_find_load_source(pointer),
      let loader = PictureLoader.allCases.first(where: { $0.className == String(cString: name) })
    {
      return loader
    }
    _ = VipsError.drainBuffer()
    // libvips up to 8.14 does not know the brand of animated AVIFs, which libheif reads.
    if present == .heif { return .heif }
    // libvips looks at less of a drawing, and wants a document to begin with its first byte.
    let longHead = longHead()
    let late: PictureLoader? =
      DrawingRoot.isDrawing(longHead) ? .svg : Self.isDocument(longHead) ? .pdf : nil
    if let late, VipsLibrary.loaders.contains(late) { return late }
    // Loaders take unreadable bytes for another format.
    let head = head()
    guard !head.isEmpty || size < Self.headLength, !isPlain(head) else {
      throw VipsError(.inputOutput, "The file can't be read", errno: EIO)
    }
    if let signed, present == nil {
      throw VipsError(.missing, "This libvips was built without \(signed.title)")
    }
    throw VipsError(.undecodable, "The content is not of a format that is decoded")
  }

  /// Starts decoding a JPEG, whose rows are computed on demand.
  ///
  /// - Parameters:
  ///   - header: the picture with its header read.
  ///   - shrink: 1, 2, 4 or 8.
  package func decodeJPEG(_ header: Picture, shrink: Int) throws(VipsError) -> Picture {
    var begun: OpaquePointer?
    let picture = try header.applying("The JPEG can't be decoded") { out in
      begun = pipeline_jpeg_load(pointer, header.pointer, Int32(shrink), out)
      return begun == nil ? -1 : 0
    }
    if let jpeg { pipeline_jpeg_release(jpeg) }
    jpeg = begun
    return picture
  }

  /// Whether libjpeg found damage in the decoded picture.
  package var hasDamagedJPEG: Bool { jpegFaults() != nil }

  /// Returns the faults that libjpeg found in the decoded picture, or `nil`.
  ///
  /// Reads the rest of the picture and of its file.
  func jpegFaults() -> pipeline_jpeg_faults? {
    guard let jpeg, let faults = pipeline_jpeg_finish(jpeg)?.pointee, faults.warnings > 0 else {
      return nil
    }
    return faults
  }

  /// Whether loaders recognise this format by these bytes alone.
  private func isPlain(_ head: [UInt8]) -> Bool {
    head.starts(with: [0xFF, 0xD8, 0xFF])
      || head.starts(with: [0x89] + Array("PNG\r\n\u{1A}\n".utf8))
  }

  /// Whether a PDF begins within the first 1,024 bytes, as readers accept it. Source: PDF 1.7 reference,
  /// appendix H.3, note 13.
  package static func isDocument(_ head: [UInt8]) -> Bool {
    let mark = Array("%PDF-".utf8)
    let start = head.prefix(1024 + mark.count)
    return start.indices.contains { start[$0...].starts(with: mark) }
  }

  private func longHead() -> [UInt8] {
    var start: UnsafeMutablePointer<UInt8>?
    let count = vips_source_sniff_at_most(pointer, &start, DrawingRoot.headLength)
    guard count > 0, let start else { return [] }
    return Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }

  private static let headLength = 12

  private func head() -> [UInt8] {
    guard let start = vips_source_sniff(pointer, Self.headLength) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Self.headLength))
  }
}
