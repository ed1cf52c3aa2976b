/// The parts of libav that files may reach, by libav's names.
///
/// libav has 350 demuxers and 500 decoders, most of them for rare formats and little tested.
/// Those here are what cameras, telephones, screen recorders, broadcasters and music shops write.
/// Playlists and scripts that name other files (HLS, DASH, concat, SDP, image sequences) are not
/// among them.
enum AllowedFormats {
  /// Demuxers, as `AVFormatContext.format_whitelist` takes them.
  static let demuxers = [
    // Films. The first is also 3GPP's and the sound file M4A.
    "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "avi", "mpegts", "mpeg", "asf", "flv", "ogg", "mxf",
    "dv",
    // Streams without a container, as DVD tools, cameras and encoders leave them.
    "mpegvideo", "m4v", "h264", "hevc",
    // Sound, for its length and its cover.
    "mp3", "aac", "flac", "wav", "aiff", "ape", "amr",
  ].joined(separator: ",")

  /// Decoders of pictures, all of them software.
  ///
  /// None for sound: what is to be known of it is in the headers.
  static let decoders: Set<String> = [
    // Today's cameras and the web.
    "h264", "hevc", "libdav1d", "vp8", "vp9", "mjpeg",
    // Former cameras, discs and television.
    "mpeg4", "mpeg2video", "mpeg1video", "h263", "dvvideo", "svq1", "svq3", "cinepak", "rpza",
    "msmpeg4v1", "msmpeg4v2", "msmpeg4", "mjpegb", "mpegvideo", "indeo4", "8bps", "smc",
    // Windows Media and Flash.
    "wmv1", "wmv2", "wmv3", "vc1", "flv", "vp6", "vp6f", "vp6a", "theora",
    // Cutting.
    "prores", "dnxhd", "rawvideo", "v210", "ffv1", "huffyuv", "ffvhuff", "utvideo", "qtrle", "cfhd",
    "jpeg2000",
    // Screen recorders, and pictures one by one; the last is that of covers.
    "png", "flashsv", "msrle", "msvideo1", "bmp",
  ]

  /// The decoders, as `codec_whitelist` takes them.
  static let decoderList = decoders.sorted().joined(separator: ",")

  /// Containers whose header tells size and codec of each stream.
  ///
  /// Decoding a poster then needs no look at the packets, which takes as long as a poster.
  static let withFullHeaders: Set<String> = ["mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"]

  /// Films that are nothing but what an encoder wrote.
  static let withoutContainer: Set<String> = ["mpegvideo", "m4v", "h264", "hevc"]

  /// Streams that begin anywhere, with nothing to tell where key frames are.
  static let withoutIndex: Set<String> = withoutContainer.union(["mpegts", "mpeg", "dv"])
}
