import CLibAV
import Glibc
import PictureDecoding

/// A decoded frame, which belongs to this object.
final class VideoFrame {
  let pointer: UnsafeMutablePointer<AVFrame>

  init() throws(DecoderError) {
    guard let frame = av_frame_alloc() else { throw MediaInput.noMemory }
    pointer = frame
  }

  deinit {
    var frame: UnsafeMutablePointer<AVFrame>? = pointer
    av_frame_free(&frame)
  }

  /// Whether the decoder had all of it and concealed nothing.
  fileprivate(set) var isWhole = true
}

/// Decodes the frames of one stream, in one thread.
final class FrameReader {
  /// What the search for a key frame finds.
  enum Found {
    case frame(VideoFrame)
    /// A key frame that was found before.
    case known
    case nothing
  }

  let stream: VideoStream
  private let input: MediaInput
  private var codec: UnsafeMutablePointer<AVCodecContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  /// Positions of key frames found so far: timestamp and byte offset.
  private var known: Set<[Int64]> = []
  private let isReduced: Bool
  private var isAtEnd = false
  /// Whether any packet of the stream was found.
  private(set) var hasPackets = false
  /// Whether the container says that the last packet is incomplete.
  private var packetIsCorrupt = false
  /// The position of the last packet that the decoder refused, until the next key frame; only of
  /// decoders that tell of damage in no other way.
  private var refusedPosition: Int64?

  /// Opens the decoder.
  ///
  /// - Parameter longest: the longer side that is needed. The loop filter, which takes a quarter of
  ///   the time of H.264, is left out of key frames that are reduced to half their size or less,
  ///   where block edges are averaged away.
  init(_ input: MediaInput, _ stream: VideoStream, longest: Int?) throws(DecoderError) {
    self.input = input
    self.stream = stream
    packet = av_packet_alloc()
    codec = avcodec_alloc_context3(stream.decoder)
    guard let codec, packet != nil,
      avcodec_parameters_to_context(codec, stream.stream.pointee.codecpar) >= 0
    else { throw MediaInput.noMemory }
    codec.pointee.thread_count = 1
    codec.pointee.pkt_timebase = stream.stream.pointee.time_base
    codec.pointee.max_pixels = Int64(MediaLimits.pixels)
    // Crops to the pixel on the left, where libavcodec would round for the sake of alignment.
    // Source: libavutil/frame.h.
    codec.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
    let longer = Int(max(stream.parameters.width, stream.parameters.height))
    isReduced = longest.map { longer >= 2 * $0 } ?? false
    let code = avcodec_open2(codec, stream.decoder, nil)
    guard code >= 0 else {
      throw MediaInput.undecodable(code, "The film's decoder can't be started")
    }
    // The demuxer needs not read what is not shown.
    for other in input.streams where other != stream.stream {
      other.pointee.discard = AVDISCARD_ALL
    }
  }

  deinit {
    avcodec_free_context(&codec)
    av_packet_free(&packet)
  }

  // MARK: - Places

  /// Moves to the first packet.
  ///
  /// Streams without an index are searched by halving, which can miss the first packet: its display
  /// time is later than its decoding time.
  func rewind() -> Bool {
    guard let container = input.container else { return false }
    restart()
    let index = stream.stream.pointee.index
    if !AllowedFormats.withoutIndex.contains(input.formatName),
      av_seek_frame(container, index, timestamp(atPart: 0) ?? 0, AVSEEK_FLAG_BACKWARD) >= 0
    {
      return true
    }
    return rewindByBytes()
  }

  /// Moves to the last key frame at or before a part of the film's length, or near it in a stream
  /// without an index.
  ///
  /// - Returns: `false` if the length is unknown, or the container can't be searched.
  func seek(toPart part: Double) -> Bool {
    if part == 0 { return rewind() }
    if input.lengthIsGuess, let container = input.container {
      restart()
      let place = Int64(Double(input.size) * part)
      return av_seek_frame(container, stream.stream.pointee.index, place, AVSEEK_FLAG_BYTE) >= 0
    }
    return timestamp(atPart: part).map { seek(to: $0) } ?? false
  }

  /// Moves as `seek(toPart:)`, to a time in seconds from the start of the file.
  func seek(toTime time: Double) -> Bool {
    guard let span, let distance = Int64(exactly: (time / unit).rounded()) else { return false }
    let (target, overflows) = span.fileStart.addingReportingOverflow(distance)
    let (end, isEndless) = span.start.addingReportingOverflow(span.length)
    // Before the first frame, and behind the last, there is none to be found.
    return !overflows && !isEndless && seek(to: min(max(target, span.start), end))
  }

  private func seek(to target: Int64) -> Bool {
    guard let container = input.container else { return false }
    restart()
    return av_seek_frame(
      container, stream.stream.pointee.index, target, AVSEEK_FLAG_BACKWARD) >= 0
  }

  /// Moves to the first byte behind the container's header.
  ///
  /// - Returns: `false` for containers that can't be entered at a byte, such as MP4.
  func rewindByBytes() -> Bool {
    guard let container = input.container else { return false }
    restart()
    return av_seek_frame(container, stream.stream.pointee.index, 0, AVSEEK_FLAG_BYTE) >= 0
  }

  /// The stream's time at a part of the film's length; `nil` if the length is unknown.
  private func timestamp(atPart part: Double) -> Int64? {
    guard let span, span.length > 0 || part == 0,
      let distance = Int64(exactly: (Double(span.length) * part).rounded())
    else { return nil }
    let (target, overflows) = span.start.addingReportingOverflow(distance)
    return overflows ? nil : target
  }

  /// The stream's times in its unit; a length of 0 is unknown.
  private struct Span {
    /// When the file begins: its sound may begin before the film.
    var fileStart: Int64
    var start: Int64
    var length: Int64
  }

  private var span: Span? {
    guard let container = input.container else { return nil }
    let base = stream.stream.pointee.time_base
    let none = pipeline_av_no_timestamp()
    func inUnit(_ microseconds: Int64) -> Int64 {
      av_rescale_q(microseconds, AVRational(num: 1, den: AV_TIME_BASE), base)
    }
    let first = container.pointee.start_time == none ? nil : inUnit(container.pointee.start_time)
    let own = stream.stream.pointee.start_time
    let start = own == none ? first ?? 0 : own
    let whole = inUnit(input.duration ?? 0)
    let (lead, overflows) = start.subtractingReportingOverflow(first ?? start)
    // A film that would begin after its own end begins at another time than it says.
    let isMeant = !overflows && (0..<max(whole, 1)).contains(lead)
    var length = stream.stream.pointee.duration
    if input.lengthIsGuess {
      length = 0
    } else if length == none || length <= 0 {
      length = whole - (isMeant ? lead : 0)
    }
    return Span(
      fileStart: isMeant ? start - lead : start, start: start, length: max(0, length))
  }

  // MARK: - Times

  /// When the film ends, in seconds from the file's start; `nil` if that is unknown.
  var end: Double? {
    guard let span, span.length > 0 else { return nil }
    return (Double(span.start) + Double(span.length) - Double(span.fileStart)) * unit
  }

  /// When a frame is shown, in seconds from the file's start; `nil` if it does not say.
  func time(of frame: VideoFrame) -> Double? {
    let stamp = frame.pointer.pointee.best_effort_timestamp
    guard let span, stamp != pipeline_av_no_timestamp() else { return nil }
    let (distance, overflows) = stamp.subtractingReportingOverflow(span.fileStart)
    return overflows ? nil : max(0, Double(distance) * unit)
  }

  /// The stream's unit of time in seconds.
  private var unit: Double {
    let base = stream.stream.pointee.time_base
    return Double(base.num) / Double(max(1, base.den))
  }

  private func restart() {
    isAtEnd = false
    refusedPosition = nil
    if let codec { avcodec_flush_buffers(codec) }
  }

  // MARK: - Key frames

  /// Decodes the next key frame alone.
  ///
  /// - Parameter accepting: whether a frame with damage is accepted.
  func keyFrame(acceptingDamage: Bool = false) throws(DecoderError) -> Found {
    guard let codec, let packet else { return .nothing }
    codec.pointee.skip_loop_filter = isReduced ? AVDISCARD_ALL : AVDISCARD_DEFAULT
    codec.pointee.err_recognition = strictness(isFiltered: !isReduced, acceptingDamage)
    var damaged = 0
    for _ in 0..<MediaLimits.packetsPerFrame {
      guard try readPacket() else { return .nothing }
      guard packet.pointee.flags & AV_PKT_FLAG_KEY != 0 else { continue }
      let place = [packet.pointee.pts, packet.pointee.dts, packet.pointee.pos]
      guard known.insert(place).inserted || acceptingDamage else { return .known }
      let frame = try decodeAlone(codec, packet)
      if let frame, frame.isWhole || acceptingDamage {
        // It is asked for where none was found to be whole.
        if acceptingDamage { frame.isWhole = false }
        return .frame(frame)
      }
      damaged += 1
      if damaged == MediaLimits.damagedFrames { return .nothing }
    }
    return .nothing
  }

  /// Which errors the decoder looks for.
  ///
  /// H.264, MPEG-1, 2 and 4, ProRes and FFV1 mark damaged frames by themselves, Windows Media if the
  /// length of data is looked at. HEVC and MJPEG tell of damage only by refusing a packet, and HEVC
  /// of little without checksums. Decoders of VP8, VP9, AV1 and Theora notice nothing.
  /// `AV_EF_BITSTREAM` is left out, because it takes the padding of MPEG-2 for damage.
  private func strictness(isFiltered: Bool, _ acceptsDamage: Bool = false) -> Int32 {
    var flags = AV_EF_BUFFER
    // Checksums are of filtered frames.
    if isFiltered { flags |= AV_EF_CRCCHECK }
    if refusesDamage, !acceptsDamage { flags |= AV_EF_EXPLODE }
    return flags
  }

  /// Whether the decoder tells of damage only if it is to refuse it.
  private var refusesDamage: Bool {
    let codec = stream.parameters.codec_id
    return codec == AV_CODEC_ID_HEVC || codec == AV_CODEC_ID_MJPEG
  }

  /// Remembers the last packet if the decoder refused it.
  private func note(_ code: Int32) {
    guard refusesDamage, code < 0, code != pipeline_av_error(EAGAIN),
      code != pipeline_av_error_eof(), let packet
    else { return }
    refusedPosition = packet.pointee.pos
  }

  /// Sends a key frame, and as much as the decoder needs to give it out.
  private func decodeAlone(
    _ codec: UnsafeMutablePointer<AVCodecContext>, _ packet: UnsafeMutablePointer<AVPacket>
  ) throws(DecoderError) -> VideoFrame? {
    avcodec_flush_buffers(codec)
    defer { avcodec_flush_buffers(codec) }
    refusedPosition = nil
    packetIsCorrupt = packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
    guard avcodec_send_packet(codec, packet) >= 0 else { return nil }
    // The other field of an interlaced frame is a packet of its own in some streams.
    let order = stream.stream.pointee.codecpar.pointee.field_order
    if order != AV_FIELD_PROGRESSIVE && order != AV_FIELD_UNKNOWN, try readPacket() {
      if avcodec_send_packet(codec, packet) == pipeline_av_error(EAGAIN) { return try receive() }
    }
    avcodec_send_packet(codec, nil)
    return try receive()
  }

  // MARK: - Frames in a row

  /// Decodes the next frame.
  ///
  /// - Returns: `nil` at the end.
  func nextFrame() throws(DecoderError) -> VideoFrame? {
    guard let codec, let packet else { return nil }
    codec.pointee.skip_loop_filter = AVDISCARD_DEFAULT
    codec.pointee.err_recognition = strictness(isFiltered: true)
    for _ in 0..<MediaLimits.packetsPerFrame {
      if let frame = try receive() { return frame }
      guard !isAtEnd else { return nil }
      if try readPacket() {
        packetIsCorrupt = packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
        // A packet that can't be decoded is left out; the next may be.
        note(avcodec_send_packet(codec, packet))
      } else {
        isAtEnd = true
        avcodec_send_packet(codec, nil)
      }
    }
    return nil
  }

  private func receive() throws(DecoderError) -> VideoFrame? {
    let frame = try VideoFrame()
    let code = avcodec_receive_frame(codec, frame.pointer)
    note(code)
    guard code >= 0 else { return nil }
    addColors(to: frame.pointer)
    // Frames refer to earlier ones, but none to those before a key frame.
    if frame.pointer.pointee.key_frame != 0, frame.pointer.pointee.pkt_pos != refusedPosition {
      refusedPosition = nil
    }
    frame.isWhole =
      refusedPosition == nil && frame.pointer.pointee.decode_error_flags == 0
      && frame.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0 && !packetIsCorrupt
    return frame
  }

  /// Adds what the container says of colours, where the decoder knows nothing.
  private func addColors(to frame: UnsafeMutablePointer<AVFrame>) {
    let said = stream.parameters
    if frame.pointee.color_primaries == AVCOL_PRI_UNSPECIFIED {
      frame.pointee.color_primaries = said.color_primaries
    }
    if frame.pointee.color_trc == AVCOL_TRC_UNSPECIFIED { frame.pointee.color_trc = said.color_trc }
    if frame.pointee.colorspace == AVCOL_SPC_UNSPECIFIED {
      frame.pointee.colorspace = said.color_space
    }
  }

  /// Reads the stream's next packet; `false` at the end or where the container is damaged.
  private func readPacket() throws(DecoderError) -> Bool {
    guard let container = input.container, let packet else { return false }
    for _ in 0..<MediaLimits.packetsPerFrame {
      if input.isCancelled() { throw DecoderError(.cancelled, "The job was cancelled") }
      av_packet_unref(packet)
      guard av_read_frame(container, packet) >= 0 else { return false }
      if packet.pointee.stream_index == stream.stream.pointee.index {
        hasPackets = true
        return true
      }
    }
    return false
  }
}
