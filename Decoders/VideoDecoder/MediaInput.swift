import CLibAV
import Glibc
import PictureDecoding

/// A file that libav reads through this type's own functions, and the container in it.
///
/// libav gets no file name and no protocol, and is refused to open anything else.
final class MediaInput {
  /// The container; its streams belong to it.
  private(set) var container: UnsafeMutablePointer<AVFormatContext>?
  /// The file's length in bytes.
  let size: Int64
  let isCancelled: () -> Bool

  private let descriptor: Int32
  private var stream: UnsafeMutablePointer<AVIOContext>?
  private var offset: Int64 = 0
  private var bytesLeft = MediaLimits.bytesRead
  private var errorNumber: Int32 = 0
  private var wasCancelled = false

  private static let bufferSize: Int32 = 1 << 16

  /// Opens a file.
  ///
  /// - Throws: `DecoderError` of code `inputOutput`.
  init(path: String, isCancelled: @escaping () -> Bool) throws(DecoderError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure(errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw Self.failure(number)
    }
    self.descriptor = descriptor
    self.isCancelled = isCancelled
    size = Int64(status.st_size)
  }

  deinit {
    avformat_close_input(&container)
    // Also when opening failed, because the container does not own a caller's I/O.
    if let stream { av_free(stream.pointee.buffer) }
    avio_context_free(&stream)
    close(descriptor)
  }

  /// Why the file can't be read on, if that is not the file's doing.
  var cause: DecoderError? {
    if wasCancelled { return DecoderError(.cancelled, "The job was cancelled") }
    return errorNumber == 0 ? nil : Self.failure(errorNumber)
  }

  private static func failure(_ number: Int32) -> DecoderError {
    DecoderError(.inputOutput, "The file can't be read: \(String(cString: strerror(number)))")
  }

  // MARK: - The container

  /// Recognizes the container and reads its header.
  ///
  /// - Parameters:
  ///   - demuxers: the kinds of containers that are read; all that are allowed.
  ///   - protocols: how files that a container names may be read; no protocol has the default's
  ///     name. Tests allow more of both, to see each defence alone.
  func openContainer(
    demuxers: String = AllowedFormats.demuxers, protocols: String = "none"
  ) throws(DecoderError) {
    Library.start()
    try makeContext()
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    av_dict_set(&options, "protocol_whitelist", protocols, 0)
    av_dict_set(&options, "format_whitelist", demuxers, 0)
    av_dict_set(&options, "codec_whitelist", AllowedFormats.decoderList, 0)
    av_dict_set_int(&options, "max_streams", Int64(MediaLimits.streams), 0)
    av_dict_set_int(&options, "probesize", MediaLimits.probeBytes, 0)
    av_dict_set_int(&options, "analyzeduration", MediaLimits.probeDuration, 0)
    let code = avformat_open_input(&container, nil, nil, &options)
    guard code >= 0 else { throw Self.undecodable(code, "The container can't be read") }
  }

  /// Reads packets until each stream is described; source: `avformat_find_stream_info`.
  func examineStreams() throws(DecoderError) {
    guard let container else { throw Self.noMemory }
    // The array has to match the number of streams now; more may be found.
    let count = Int(container.pointee.nb_streams)
    var options = [OpaquePointer?](repeating: nil, count: count)
    for index in options.indices {
      av_dict_set_int(&options[index], "max_pixels", Int64(MediaLimits.pixels), 0)
    }
    let headers = streams.map { ($0, $0.pointee.codecpar?.pointee) }
    let code = options.withUnsafeMutableBufferPointer {
      avformat_find_stream_info(container, $0.baseAddress)
    }
    for index in options.indices { av_dict_free(&options[index]) }
    for case (let stream, let header?) in headers {
      // Decoders forget what the container says of colours if the stream itself says nothing.
      guard let found = stream.pointee.codecpar else { continue }
      if found.pointee.color_primaries == AVCOL_PRI_UNSPECIFIED {
        found.pointee.color_primaries = header.color_primaries
      }
      if found.pointee.color_trc == AVCOL_TRC_UNSPECIFIED {
        found.pointee.color_trc = header.color_trc
      }
      if found.pointee.color_space == AVCOL_SPC_UNSPECIFIED {
        found.pointee.color_space = header.color_space
      }
    }
    if isCancelled() { wasCancelled = true }
    guard code >= 0, !wasCancelled else {
      throw Self.undecodable(code, "The container's streams can't be read")
    }
  }

  /// Whether the header alone tells enough for decoding.
  var isDescribedByHeader: Bool {
    guard AllowedFormats.withFullHeaders.contains(formatName) else { return false }
    return streams.allSatisfy { stream in
      guard let parameters = stream.pointee.codecpar?.pointee,
        parameters.codec_type == AVMEDIA_TYPE_VIDEO
      else { return true }
      return stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
        || (parameters.width > 0 && parameters.height > 0)
    }
  }

  /// The length in microseconds; `nil` if it is unknown.
  var duration: Int64? {
    guard let length = container?.pointee.duration, length > 0, !lengthIsGuess else { return nil }
    return length
  }

  /// Whether lengths are guesses by a bit rate, as those of films without a container; they may be a
  /// hundredth of what they should be.
  var lengthIsGuess: Bool {
    container?.pointee.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE
      && AllowedFormats.withoutContainer.contains(formatName)
  }

  /// libav's name of the container, such as `matroska,webm`.
  var formatName: String {
    container?.pointee.iformat?.pointee.name.map { String(cString: $0) } ?? ""
  }

  var streams: [UnsafeMutablePointer<AVStream>] {
    guard let container, let streams = container.pointee.streams else { return [] }
    return (0..<Int(container.pointee.nb_streams)).compactMap { streams[$0] }
  }

  private func makeContext() throws(DecoderError) {
    let this = Unmanaged.passUnretained(self).toOpaque()
    guard let buffer = av_malloc(Int(Self.bufferSize)) else { throw Self.noMemory }
    stream = avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), Self.bufferSize, 0, this,
      { context, buffer, count in
        MediaInput.of(context)?.read(into: buffer, count: count) ?? pipeline_av_error(EIO)
      }, nil,
      { context, offset, whence in
        MediaInput.of(context)?.seek(to: offset, whence: whence)
          ?? Int64(pipeline_av_error(EIO))
      })
    guard let stream else {
      av_free(buffer)
      throw Self.noMemory
    }
    guard let context = avformat_alloc_context() else { throw Self.noMemory }
    context.pointee.pb = stream
    context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    // Whatever a container names, it is not opened.
    context.pointee.io_open = { _, target, _, _, _ in
      target?.pointee = nil
      return pipeline_av_error(EACCES)
    }
    context.pointee.interrupt_callback = AVIOInterruptCB(
      callback: { MediaInput.of($0).map { $0.stopsReading() ? 1 : 0 } ?? 1 }, opaque: this)
    container = context
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> MediaInput? {
    context.map { Unmanaged<MediaInput>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: - Reading, as libav asks for it

  private func stopsReading() -> Bool {
    if isCancelled() { wasCancelled = true }
    return wasCancelled
  }

  private func read(into buffer: UnsafeMutablePointer<UInt8>?, count: Int32) -> Int32 {
    if stopsReading() { return pipeline_av_error_exit() }
    guard bytesLeft > 0 else { return pipeline_av_error_eof() }
    while true {
      let done = pread(descriptor, buffer, Int(count), off_t(offset))
      let number = errno
      if done > 0 {
        offset += Int64(done)
        bytesLeft -= Int64(done)
        return Int32(done)
      }
      if done == 0 { return pipeline_av_error_eof() }
      if number != EINTR {
        errorNumber = number
        return pipeline_av_error(number)
      }
    }
  }

  private func seek(to target: Int64, whence: Int32) -> Int64 {
    let start: Int64
    // AVSEEK_FORCE may be added; it asks for what is the case anyway.
    switch whence & ~AVSEEK_FORCE {
    case AVSEEK_SIZE: return size
    case SEEK_SET: start = 0
    case SEEK_CUR: start = offset
    case SEEK_END: start = size
    default: return Int64(pipeline_av_error(EINVAL))
    }
    let (sum, overflows) = start.addingReportingOverflow(target)
    guard !overflows, sum >= 0 else { return Int64(pipeline_av_error(EINVAL)) }
    offset = sum
    return sum
  }

  /// Bytes at an offset, for headers that libav does not report; fewer at the end.
  func bytes(at offset: Int64, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
      let done = pread(descriptor, &bytes, count, off_t(offset))
      let number = errno
      if done >= 0 { return Array(bytes.prefix(done)) }
      if number != EINTR {
        errorNumber = number
        return []
      }
    }
  }

  // MARK: - Errors

  static let noMemory = DecoderError(.outOfMemory, "There is not enough memory for the file")

  /// The error for a code of libav, with its words.
  static func undecodable(_ code: Int32, _ what: String) -> DecoderError {
    var text = [CChar](repeating: 0, count: 256)
    av_strerror(code, &text, text.count)
    let reason = String(
      decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return DecoderError(.undecodable, "\(what): \(reason)")
  }
}

/// libav's settings of the whole process.
private enum Library {
  static func start() { _ = started }

  private static let started: Void = {
    // Errors are returned as well; warnings are mostly about timestamps.
    av_log_set_level(AV_LOG_QUIET)
    av_max_alloc(MediaLimits.allocation)
  }()
}
