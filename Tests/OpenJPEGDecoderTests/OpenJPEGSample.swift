import COpenJPEG
import Fixtures
import Foundation
import PipelineModel
import Testing

/// A picture of components that can differ in any way, which OpenJPEG encodes without losses.
struct OpenJPEGSample: Sendable {
  struct Component: Sendable {
    var bits = 8
    var isSigned = false
    var dx = 1
    var dy = 1
    /// The value, from 0 to 1, at a place of the picture's grid.
    var value: @Sendable (_ x: Int, _ y: Int) -> Double
  }

  var width: Int
  var height: Int
  /// Where the picture begins on the grid.
  var origin = (x: 0, y: 0)
  var resolutions = 1
  /// The side of tiles; 0 for a single one.
  var tile = 0
  var components: [Component]

  /// The value of a component, as an integer from 0, that a place of the grid is shown with.
  func value(_ index: Int, x: Int, y: Int) -> Int {
    let component = components[index]
    // The place of the value before it, or of the first.
    let first = (up(origin.x, component.dx), up(origin.y, component.dy))
    let place = (
      max(x / component.dx, first.0) * component.dx, max(y / component.dy, first.1) * component.dy
    )
    return Int(
      (component.value(place.0, place.1) * Double(1 << component.bits - 1)).rounded())
  }

  private func up(_ coordinate: Int, _ distance: Int) -> Int {
    (coordinate + distance - 1) / distance
  }

  func codestream() throws -> [UInt8] { try encoded(OPJ_CODEC_J2K, OPJ_CLRSPC_UNSPECIFIED) }

  /// A file whose colours have a number. Source: ISO/IEC 15444-1, annex I.5.3.3.
  func file(colors: Int = 16) throws -> [UInt8] {
    let space = components.count < 3 ? OPJ_CLRSPC_GRAY : OPJ_CLRSPC_SRGB
    return Pictures.withColors(
      [1, 0, 0] + Pictures.big(colors, 4), in: try encoded(OPJ_CODEC_JP2, space))
  }

  private func encoded(_ format: OPJ_CODEC_FORMAT, _ space: OPJ_COLOR_SPACE) throws -> [UInt8] {
    let (x1, y1) = (origin.x + width, origin.y + height)
    var descriptions = components.map { component in
      var description = opj_image_cmptparm_t()
      description.dx = UInt32(component.dx)
      description.dy = UInt32(component.dy)
      description.w = UInt32(up(x1, component.dx) - up(origin.x, component.dx))
      description.h = UInt32(up(y1, component.dy) - up(origin.y, component.dy))
      description.x0 = UInt32(origin.x)
      description.y0 = UInt32(origin.y)
      description.prec = UInt32(component.bits)
      description.sgnd = component.isSigned ? 1 : 0
      return description
    }
    let image = try #require(opj_image_create(UInt32(components.count), &descriptions, space))
    defer { opj_image_destroy(image) }
    (image.pointee.x0, image.pointee.y0) = (UInt32(origin.x), UInt32(origin.y))
    (image.pointee.x1, image.pointee.y1) = (UInt32(x1), UInt32(y1))
    for (index, component) in components.enumerated() {
      let (w, h) = (Int(descriptions[index].w), Int(descriptions[index].h))
      let first = (up(origin.x, component.dx), up(origin.y, component.dy))
      for row in 0..<h {
        for column in 0..<w {
          let number = value(
            index, x: (first.0 + column) * component.dx, y: (first.1 + row) * component.dy)
          let middle = component.isSigned ? 1 << (component.bits - 1) : 0
          image.pointee.comps[index].data[row * w + column] = Int32(number - middle)
        }
      }
    }
    let folder = try TemporaryFolder()
    let path = "\(folder.appending("sample"))"
    let codec = try #require(opj_create_compress(format))
    defer { opj_destroy_codec(codec) }
    let stream = try #require(opj_stream_create_default_file_stream(path, OPJ_FALSE))
    let isDone =
      pipeline_openjpeg_set_up_encoder(codec, image, Int32(resolutions), Int32(tile)) != 0
      && opj_start_compress(codec, image, stream) != 0 && opj_encode(codec, stream) != 0
      && opj_end_compress(codec, stream) != 0
    opj_stream_destroy(stream)
    try #require(isDone)
    return Array(try Data(contentsOf: URL(filePath: path)))
  }
}
