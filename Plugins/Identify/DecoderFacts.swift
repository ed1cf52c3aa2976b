import PictureDecoding
import PipelineModel
import Vips

/// Facts about kinds of files that are decoded by a library of their own.
enum DecoderFacts {
  /// Asks a decoder; if it can make nothing of the file, `problem` says why.
  ///
  /// - Parameter name: the decoder's name. If it is not there, nothing is found.
  /// - Throws: `VipsError` only if the kernel or the machine is at fault.
  static func read(
    _ path: String, _ type: MediaType, by name: String, isCancelled: () -> Bool
  ) throws(VipsError) -> [String: JSONValue] {
    if DecoderTable.absent.contains(name) { return [:] }
    do throws(DecoderError) {
      return try LoadedDecoder(path: DecoderTable.path(of: name))
        .facts(DecoderRequest(path: path, mediaType: type.rawValue), isCancelled: isCancelled)
    } catch {
      switch error.code {
      case .inputOutput: throw VipsError(.inputOutput, error.message)
      case .outOfMemory: throw VipsError(.outOfMemory, error.message)
      case .cancelled: throw VipsError(.cancelled, error.message)
      case .absent: return [:]
      case .undecodable, .tooLarge, .missing: return ["problem": .string(error.message + ".")]
      }
    }
  }
}
