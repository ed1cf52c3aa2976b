import COpenJPEG
import PictureDecoding

/// A JPEG 2000 file whose header was read.
final class Codestream {
  private let source: CodestreamSource
  private let stream: UnsafeMutablePointer<opj_stream_t?>
  private let codec: UnsafeMutablePointer<opj_codec_t?>
  private let image: UnsafeMutablePointer<opj_image_t>
  let layout: SampleLayout
  /// How many resolutions every component has, each of half the size of the one before.
  private let resolutions: Int
  private let tiles: Int

  /// - Throws: `DecoderError` of code `undecodable` if OpenJPEG does not understand the header.
  init(_ source: CodestreamSource) throws(DecoderError) {
    let format = source.isBare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2
    guard let stream = source.makeStream(), let codec = opj_create_decompress(format) else {
      throw DecoderError(.outOfMemory, "There is not enough memory for the picture")
    }
    source.listen(to: codec)
    var read: UnsafeMutablePointer<opj_image_t>?
    guard pipeline_openjpeg_set_up_decoder(codec) != OPJ_FALSE,
      opj_read_header(stream, codec, &read) != OPJ_FALSE, let image = read,
      source.complaint == nil, image.pointee.numcomps > 0
    else {
      opj_image_destroy(read)
      opj_destroy_codec(codec)
      opj_stream_destroy(stream)
      throw Self.failure(source.complaint)
    }
    (self.source, self.stream, self.codec, self.image) = (source, stream, codec, image)
    layout = SampleLayout(image.pointee)
    (resolutions, tiles) = Self.structure(codec)
  }

  deinit {
    opj_image_destroy(image)
    opj_destroy_codec(codec)
    opj_stream_destroy(stream)
  }

  private static func failure(_ complaint: String?) -> DecoderError {
    DecoderError(
      .undecodable, "The JPEG 2000 can't be decoded: \(complaint ?? "no reason given")")
  }

  private static func structure(
    _ codec: UnsafeMutablePointer<opj_codec_t?>
  ) -> (resolutions: Int, tiles: Int) {
    var info = opj_get_cstr_info(codec)
    defer { opj_destroy_cstr_info(&info) }
    guard let found = info?.pointee, let parts = found.m_default_tile_info.tccp_info else {
      return (1, 1)
    }
    let components = UnsafeBufferPointer(start: parts, count: Int(found.nbcomps))
    let resolutions = components.map { Int($0.numresolutions) }.min() ?? 1
    return (max(1, resolutions), Int(found.tw) * Int(found.th))
  }

  /// How often to halve a picture that is needed with a longer side of some pixels.
  ///
  /// - Parameters:
  ///   - longest: `nil` for all pixels.
  ///   - hasPalette: whether values may be indices, whose averages are other colours.
  func reduction(for longest: Int?, hasPalette: Bool) -> Int {
    guard let longest, !hasPalette else { return 0 }
    let usable = (1..<max(1, resolutions)).prefix { reduction in
      max(layout.width(reduction), layout.height(reduction)) >= longest
        && layout.components.allSatisfy { component in
          let size = layout.size(of: component, reduction)
          return size.width > 0 && size.height > 0
        }
    }
    return usable.last ?? 0
  }

  /// The bytes that decoding takes.
  ///
  /// OpenJPEG 2.5 has values of four bytes and a tile's compressed bytes: of 24 megapixels in three components,
  /// which are 275 MiB of values and 7 MiB of file, it takes 294 MiB. For each tile it keeps parameters: of 65,535
  /// tiles in four components 530 MiB. The pixels are copied on their way.
  func memory(reduction: Int, hasPalette: Bool) -> Int {
    var bytes = 16 << 20 + source.size
    // There are at most 65,535 tiles, and 16,384 components.
    bytes += tiles * (6144 + 1104 * layout.components.count)
    for component in layout.components {
      let size = layout.size(of: component, reduction)
      bytes = Self.sum(bytes, size.width, size.height, 5)
    }
    // Four channels of a palette, and pixels of four bands.
    let perPixel = (hasPalette ? 16 : 0) + 12
    return Self.sum(bytes, layout.width(reduction), layout.height(reduction), perPixel)
  }

  /// The sum with a product; the greatest number that JSON has if it is beyond.
  private static func sum(_ bytes: Int, _ width: Int, _ height: Int, _ each: Int) -> Int {
    let most = 1 << 53
    // A side is below 2³³.
    let (product, overflow) = (width * each).multipliedReportingOverflow(by: height)
    return overflow ? most : min(most, bytes + min(product, most))
  }

  /// Decodes all values. A codestream is decoded once.
  ///
  /// - Parameter reduction: how often the picture is halved.
  func decode(_ reduction: Int) throws(DecoderError) -> Channels {
    if reduction > 0 {
      guard opj_set_decoded_resolution_factor(codec, UInt32(reduction)) != OPJ_FALSE else {
        throw Self.failure(source.complaint)
      }
    }
    guard opj_decode(codec, stream, image) != OPJ_FALSE, source.complaint == nil else {
      throw Self.failure(source.complaint)
    }
    return try Channels(image.pointee, reduction, of: self)
  }
}

extension SampleLayout {
  init(_ image: opj_image_t) {
    area = (Int(image.x0), Int(image.y0), Int(image.x1), Int(image.y1))
    // OpenJPEG has as many as it says.
    components = UnsafeBufferPointer(start: image.comps, count: Int(image.numcomps)).map {
      Component(
        bits: Int($0.prec), isSigned: $0.sgnd != 0, dx: max(1, Int($0.dx)), dy: max(1, Int($0.dy)))
    }
  }
}
