package import CPictureDecoder
import PipelineModel
import Synchronization

/// Returns a decoder's C table, for the function that its library exports.
///
/// A library exports one decoder; later calls for another type are ignored.
package func exportDecoder<Exported: PictureDecoder>(
  _ type: Exported.Type
) -> UnsafePointer<picture_decoder>? {
  Export.current.withLock { current in
    if current == nil {
      current = Export(
        facts: { request, isCancelled in
          Export.answer { () throws(DecoderError) in
            let facts = try Exported.facts(Export.request(request), isCancelled: isCancelled)
            return (.init(facts: facts), [], [])
          }
        },
        decode: { request, isCancelled in
          Export.answer { () throws(DecoderError) in
            let asked = try Export.request(request)
            if let count = asked.frames {
              let frames = try Exported.frames(asked, count: count, isCancelled: isCancelled)
              return (.init(frames: .init(frames)), frames.pixels, [])
            }
            let picture = try Exported.decode(asked, isCancelled: isCancelled)
            return (.init(picture: .init(picture)), picture.bytes, picture.profile)
          }
        })
    }
  }
  return UnsafePointer(bitPattern: Export.table)
}

/// The decoder of this library, type-erased because C functions can't be generic.
private struct Export: Sendable {
  typealias Function = @Sendable (picture_decoder_bytes, () -> Bool) -> picture_decoder_answer

  let facts: Function
  let decode: Function

  static let current = Mutex<Export?>(nil)

  /// The address of the table, which is allocated once and never freed.
  static let table: UInt = {
    let table = UnsafeMutablePointer<picture_decoder>.allocate(capacity: 1)
    table.initialize(
      to: picture_decoder(
        abi: UInt32(PICTURE_DECODER_ABI),
        struct_size: UInt32(MemoryLayout<picture_decoder>.size),
        facts: { request, cancellation in Export.call(\.facts, request, cancellation) },
        decode: { request, cancellation in Export.call(\.decode, request, cancellation) },
        release: { answer in
          for bytes in [answer.text, answer.picture, answer.profile] {
            UnsafeMutableRawPointer(mutating: bytes.bytes)?.deallocate()
          }
        }))
    return UInt(bitPattern: table)
  }()

  static func call(
    _ function: KeyPath<Export, Function>, _ request: picture_decoder_bytes,
    _ cancellation: picture_decoder_cancellation
  ) -> picture_decoder_answer {
    // The table exists only once a decoder was exported.
    guard let export = current.withLock({ $0 }) else { return picture_decoder_answer() }
    return export[keyPath: function](request) {
      cancellation.cancelled.map { $0(cancellation.context) != 0 } ?? false
    }
  }

  static func request(_ bytes: picture_decoder_bytes) throws(DecoderError) -> DecoderRequest {
    let buffer = UnsafeRawBufferPointer(start: bytes.bytes, count: Int(bytes.length))
    do {
      return try JSONText.decode(
        DecoderRequest.self, from: String(decoding: buffer, as: UTF8.self))
    } catch {
      // Both sides are built together.
      throw DecoderError(.missing, "The decoder is of another version of pipeline")
    }
  }

  static func answer(
    _ body: () throws(DecoderError) -> (DecoderAnswer, picture: [UInt8], profile: [UInt8])
  ) -> picture_decoder_answer {
    var answer: DecoderAnswer
    var (picture, profile): ([UInt8], [UInt8]) = ([], [])
    do throws(DecoderError) {
      (answer, picture, profile) = try body()
    } catch {
      answer = DecoderAnswer(failure: error)
    }
    var out = picture_decoder_answer()
    // An answer is plain data; the caller reports an empty one.
    out.text = owned(Array(((try? JSONText.encode(answer)) ?? "").utf8))
    out.picture = owned(picture)
    out.profile = owned(profile)
    return out
  }

  static func owned(_ bytes: [UInt8]) -> picture_decoder_bytes {
    guard !bytes.isEmpty else { return picture_decoder_bytes() }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    copy.copyBytes(from: bytes)
    return picture_decoder_bytes(bytes: copy.baseAddress, length: UInt64(bytes.count))
  }
}

extension DecodedPicture {
  /// The bytes of the file or of the pixels.
  fileprivate var bytes: [UInt8] {
    switch content {
    case .encoded(let bytes), .pixels(let bytes, _, _, _): bytes
    }
  }
}
