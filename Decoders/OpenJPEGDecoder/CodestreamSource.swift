import COpenJPEG
import Containers
import PictureDecoding

/// The bytes of a file for OpenJPEG, and what went wrong while it read them.
final class CodestreamSource {
  private let input: InputFile
  private let isCancelled: () -> Bool
  private var position = 0
  /// Why bytes could not be had; `nil` if all could.
  private(set) var failure: DecoderError?
  /// What OpenJPEG first said is wrong with the file.
  fileprivate(set) var complaint: String?

  var size: Int { input.size }

  init(_ input: InputFile, isCancelled: @escaping () -> Bool) {
    self.input = input
    self.isCancelled = isCancelled
  }

  /// Whether the file is a codestream without a container.
  var isBare: Bool { head.starts(with: [0xFF, 0x4F]) }

  private var head: [UInt8] { (try? input.read(at: 0, count: 2)) ?? [] }

  /// Reads on; returns `nil` at the end of the file, and where it can't be read.
  fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    if isCancelled() {
      failure = failure ?? DecoderError(.cancelled, "The job was cancelled")
      return nil
    }
    do throws(InputFile.Failure) {
      let bytes = try input.read(at: position, count: buffer.count)
      buffer.copyBytes(from: bytes)
      position += bytes.count
      return bytes.isEmpty ? nil : bytes.count
    } catch {
      failure = failure ?? DecoderError(.inputOutput, error.message)
      return nil
    }
  }

  fileprivate func move(to place: Int) -> Bool {
    guard (0...input.size).contains(place) else { return false }
    position = place
    return true
  }

  fileprivate func skip(_ count: Int) -> Bool {
    let (place, overflow) = position.addingReportingOverflow(count)
    return !overflow && move(to: place)
  }

  /// Makes a stream that reads from here, which must stay as long as the stream.
  func makeStream() -> UnsafeMutablePointer<opj_stream_t?>? {
    guard let stream = opj_stream_create(1 << 20, OPJ_TRUE) else { return nil }
    opj_stream_set_user_data(stream, context, nil)
    opj_stream_set_user_data_length(stream, UInt64(size))
    opj_stream_set_read_function(stream) { buffer, count, context in
      let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
      // OpenJPEG's sign of the end, as of failures, is the unsigned -1.
      return CodestreamSource.at(context)?.read(into: bytes) ?? -1
    }
    opj_stream_set_skip_function(stream) { count, context in
      CodestreamSource.at(context)?.skip(Int(count)) == true ? count : -1
    }
    opj_stream_set_seek_function(stream) { place, context in
      CodestreamSource.at(context)?.move(to: Int(place)) == true ? OPJ_TRUE : OPJ_FALSE
    }
    return stream
  }

  /// Receives what OpenJPEG says is wrong.
  func listen(to codec: UnsafeMutablePointer<opj_codec_t?>) {
    opj_set_error_handler(
      codec,
      { message, context in
        guard let message, let source = CodestreamSource.at(context) else { return }
        let text = String(cString: message).split(whereSeparator: \.isNewline).first ?? ""
        let sentence = text.last == "." ? text.dropLast() : text
        source.complaint = source.complaint ?? String(sentence.prefix(200))
      }, context)
  }

  private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  private static func at(_ context: UnsafeMutableRawPointer?) -> CodestreamSource? {
    // The codec and the stream, which have the pointer, end before the source.
    context.map { Unmanaged<CodestreamSource>.fromOpaque($0).takeUnretainedValue() }
  }
}
