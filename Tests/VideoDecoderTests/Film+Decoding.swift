import Fixtures
import Foundation
import PictureDecoding
import PipelineModel
import Testing

@testable import VideoDecoder

extension Film {
  var facts: [String: JSONValue] {
    get throws(DecoderError) {
      try VideoDecoder.facts(DecoderRequest(path: path, mediaType: "")) { false }
    }
  }

  func decode(longest: Int? = nil) throws(DecoderError) -> DecodedPicture {
    try VideoDecoder.decode(
      DecoderRequest(path: path, mediaType: "", longest: longest)
    ) { false }
  }

  /// Decodes the frame's pixels.
  func frame(longest: Int? = nil) throws -> Frame { try Frame(decode(longest: longest)) }

  /// The code of the error that a body throws; `nil` if it throws none.
  static func code(_ body: () throws(DecoderError) -> Void) -> DecoderError.Code? {
    do throws(DecoderError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }
}

/// Pixels of a decoded picture.
struct Frame {
  let pixels: [UInt8]
  let width: Int
  let height: Int

  init(_ picture: DecodedPicture) throws {
    guard case .pixels(let pixels, let width, let height, 3) = picture.content else {
      throw DecoderError(.undecodable, "The picture is not of pixels")
    }
    (self.pixels, self.width, self.height) = (pixels, width, height)
    #expect(pixels.count == width * height * 3)
  }

  /// The mean of all values.
  var mean: Double {
    Double(pixels.reduce(0) { $0 + Int($1) }) / Double(pixels.count)
  }

  /// The colour in the middle.
  var middle: [Int] {
    let at = (height / 2 * width + width / 2) * 3
    return pixels[at..<(at + 3)].map(Int.init)
  }
}

extension [UInt8] {
  /// The offset of the first byte behind a text.
  func end(of text: String) throws -> Int {
    let text = Array(text.utf8)
    let start = try #require(indices.first { self[$0...].starts(with: text) })
    return start + text.count
  }

  /// The offset of the last place where bytes are.
  func lastStart(of bytes: [UInt8]) throws -> Int {
    try #require(indices.last { self[$0...].starts(with: bytes) })
  }

  /// Replaces bytes.
  mutating func put(_ bytes: [UInt8], at offset: Int) {
    replaceSubrange(offset..<(offset + bytes.count), with: bytes)
  }
}

extension FixedWidthInteger {
  var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
