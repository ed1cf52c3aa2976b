import CPictureDecoder
import Glibc
package import PipelineModel
import Synchronization

/// A decoder in a shared library, as the plugins see it.
package struct LoadedDecoder: Sendable {
  // Its functions may be called by any thread.
  private let table: Table

  private struct Table: @unchecked Sendable {
    let facts: Function
    let decode: Function
    let release: @convention(c) (picture_decoder_answer) -> Void
  }

  /// The decoders loaded so far, by path.
  private static let loaded = Mutex<[String: Table]>([:])

  /// Loads a library, once per process.
  ///
  /// - Throws: `DecoderError` of code `missing` with the dynamic linker's reason.
  package init(path: String) throws(DecoderError) {
    let found: Result<Table, DecoderError> = Self.loaded.withLock { loaded in
      if let table = loaded[path] { return .success(table) }
      do throws(DecoderError) {
        let table = try Self.load(path)
        loaded[path] = table
        return .success(table)
      } catch {
        return .failure(error)
      }
    }
    table = try found.get()
  }

  private static func load(_ path: String) throws(DecoderError) -> Table {
    guard let library = dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
      let reason = dlerror().map { String(cString: $0) } ?? "no reason given"
      throw DecoderError(.missing, "The decoder can't be loaded: \(reason)")
    }
    guard let symbol = dlsym(library, PICTURE_DECODER_ENTRY) else {
      throw DecoderError(.missing, "The decoder has no function \(PICTURE_DECODER_ENTRY)")
    }
    // The library exports it with this type: its name has the ABI's version.
    let entry = unsafeBitCast(symbol, to: picture_decoder_entry.self)
    guard let table = entry()?.pointee, table.abi == UInt32(PICTURE_DECODER_ABI),
      let facts = table.facts, let decode = table.decode, let release = table.release
    else {
      throw DecoderError(.missing, "The decoder is of another version of pipeline")
    }
    return Table(facts: facts, decode: decode, release: release)
  }

  /// Finds facts about a file.
  package func facts(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> [String: JSONValue] {
    try call(table.facts, request, isCancelled) { answer, _ throws(DecoderError) in
      guard let facts = answer.facts else { throw Self.unreadable }
      return facts
    }
  }

  /// Decodes the picture that stands for a file.
  package func decode(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedPicture {
    try call(table.decode, request, isCancelled) { answer, raw throws(DecoderError) in
      guard let description = answer.picture else { throw Self.unreadable }
      let bytes = Self.bytes(raw.picture)
      var picture: DecodedPicture
      if let width = description.width, let height = description.height,
        let bands = description.bands
      {
        guard width > 0, height > 0, [1, 3, 4].contains(bands),
          bytes.count == width * height * bands
        else { throw Self.unreadable }
        picture = DecodedPicture(
          .pixels(bytes, width: width, height: height, bands: bands))
      } else {
        picture = DecodedPicture(.encoded(bytes))
      }
      picture.orientation = description.orientation
      picture.profile = Self.bytes(raw.profile)
      picture.isPreview = description.isPreview
      picture.damage = description.damage
      return picture
    }
  }

  /// Decodes frames at equal distances over a film, as many as the request says.
  ///
  /// - Throws: `DecoderError` of code `absent` if the file is no film.
  package func frames(
    _ request: DecoderRequest, isCancelled: () -> Bool
  ) throws(DecoderError) -> DecodedFrames {
    try call(table.decode, request, isCancelled) { answer, raw throws(DecoderError) in
      guard let description = answer.frames else { throw Self.unreadable }
      let bytes = Self.bytes(raw.picture)
      guard description.width > 0, description.height > 0, !description.times.isEmpty,
        bytes.count == description.width * description.height * description.times.count * 3
      else { throw Self.unreadable }
      return DecodedFrames(
        pixels: bytes, width: description.width, height: description.height,
        orientation: description.orientation, times: description.times,
        duration: description.duration)
    }
  }

  private static let unreadable = DecoderError(.missing, "The decoder's answer can't be read")

  private typealias Function =
    @convention(c) (
      picture_decoder_bytes, picture_decoder_cancellation
    ) -> picture_decoder_answer

  private func call<Value>(
    _ function: Function, _ request: DecoderRequest, _ isCancelled: () -> Bool,
    _ body: (DecoderAnswer, picture_decoder_answer) throws(DecoderError) -> Value
  ) throws(DecoderError) -> Value {
    guard let text = try? JSONText.encode(request) else { throw Self.unreadable }
    let raw = withoutActuallyEscaping(isCancelled) { isCancelled in
      let question = Question(isCancelled)
      return withExtendedLifetime(question) {
        var text = text
        return text.withUTF8 { utf8 in
          function(
            picture_decoder_bytes(bytes: utf8.baseAddress, length: UInt64(utf8.count)),
            picture_decoder_cancellation(
              cancelled: { context in
                guard let context else { return 0 }
                let question = Unmanaged<Question>.fromOpaque(context).takeUnretainedValue()
                return question.isCancelled() ? 1 : 0
              }, context: Unmanaged.passUnretained(question).toOpaque()))
        }
      }
    }
    defer { table.release(raw) }
    let answer: DecoderAnswer
    do {
      answer = try JSONText.decode(
        DecoderAnswer.self, from: String(decoding: Self.bytes(raw.text), as: UTF8.self))
    } catch {
      throw Self.unreadable
    }
    if let failure = answer.failure { throw failure }
    return try body(answer, raw)
  }

  private static func bytes(_ bytes: picture_decoder_bytes) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: bytes.bytes, count: Int(bytes.length)))
  }

  /// Keeps the closure for the time of a call.
  private final class Question {
    let isCancelled: () -> Bool
    init(_ isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }
  }
}
