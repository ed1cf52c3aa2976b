import CLibAV
import PictureDecoding
import PipelineModel

/// Facts about a film or sound file.
struct VideoFacts {
  let facts: [String: JSONValue]

  /// Collects facts of a container whose streams are described.
  ///
  /// - Throws: `DecoderError` of code `undecodable` if there is neither a film nor sound.
  init(_ input: MediaInput) throws(DecoderError) {
    var facts = ContainerTags(input).facts
    facts["container"] = .string(ContainerName.name(of: input))
    facts["streams"] = .integer(input.streams.count)
    if let duration = input.duration {
      facts["duration"] = .number((Double(duration) / 1000).rounded() / 1000)
    }
    let sound = input.streams.first {
      $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
    }
    if let sound { facts["audioCodec"] = .string(Self.codecName(sound)) }
    let films = VideoStream.films(in: input)
    var film: VideoStream?
    do throws(DecoderError) {
      film = try VideoStream.best(in: input)
    } catch {
      // What is known otherwise is worth having; with a decoder that is missing, all will be.
      guard sound != nil || error.code != .missing else { throw error }
      facts["problem"] = .string(error.message + ".")
    }
    if let film {
      facts.merge(Self.facts(of: film)) { $1 }
    } else if let undecoded = films.first {
      facts["videoCodec"] = .string(Self.codecName(undecoded))
    } else if sound == nil {
      throw DecoderError(.undecodable, "The file has neither film nor sound")
    }
    let memory = DecodingMemory(film, cover: CoverArt.best(in: input)?.size ?? 0)
    facts["decodeBytes"] = .object([
      "streamed": .integer(memory.reduced), "whole": .integer(memory.whole),
    ])
    self.facts = facts
  }

  private static func facts(of film: VideoStream) -> [String: JSONValue] {
    let size = film.squareSize(
      width: Int(film.parameters.width), height: Int(film.parameters.height))
    let isTurned = film.orientation.swapsSides
    var facts: [String: JSONValue] = [
      "width": .integer(isTurned ? size.height : size.width),
      "height": .integer(isTurned ? size.width : size.height),
      // Of the picture as `width` and `height` describe it.
      "orientation": .integer(1),
      "rotation": .integer(film.orientation.degrees),
      "videoCodec": .string(codecName(film.stream)),
    ]
    let rate = film.stream.pointee.avg_frame_rate
    if rate.num > 0, rate.den > 0 {
      facts["frameRate"] = .number(
        (Double(rate.num) / Double(rate.den) * 1000).rounded() / 1000)
    }
    switch film.stream.pointee.codecpar.pointee.color_trc {
    case AVCOL_TRC_SMPTE2084: facts["hdr"] = "pq"
    case AVCOL_TRC_ARIB_STD_B67: facts["hdr"] = "hlg"
    default: break
    }
    return facts
  }

  private static func codecName(_ stream: UnsafeMutablePointer<AVStream>) -> String {
    String(cString: avcodec_get_name(stream.pointee.codecpar.pointee.codec_id))
  }
}
