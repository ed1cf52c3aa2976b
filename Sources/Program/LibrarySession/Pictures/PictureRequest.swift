package import Ingest
import PipelineModel

/// A picture that somebody asks for, of an asset.
package struct PictureRequest: Hashable, Codable, Sendable {
  /// The most pixels of the longer side; the picture is never enlarged.
  package var maxPixelSize: Int
  /// The part to show, in pixels of the upright original; `nil` for the whole picture.
  package var region: PictureKey.Region?
  /// The file format; by default JPEG.
  package var format: PictureKey.Format
  /// Whether an outdated picture is better than waiting.
  package var acceptsStale: Bool
  /// The exact size before it is turned, instead of `maxPixelSize`: the part is stretched to it, or
  /// enlarged.
  package var size: PictureKey.Size?
  /// Whether viewers lay tiles of the original over the picture, so that it must look like them: it is made
  /// of the original, and exactly, if that can be decoded.
  package var isOverview: Bool
  /// Turns and tones.
  package var finish: PictureKey.Finish

  package init(
    maxPixelSize: Int, region: PictureKey.Region? = nil, format: PictureKey.Format = .jpeg,
    acceptsStale: Bool = false, size: PictureKey.Size? = nil, isOverview: Bool = false,
    finish: PictureKey.Finish = PictureKey.Finish()
  ) {
    self.maxPixelSize = maxPixelSize
    self.region = region
    self.format = format
    self.acceptsStale = acceptsStale
    self.size = size
    self.isOverview = isOverview
    self.finish = finish
  }

  /// More pixels in a row, or rows, than any picture has.
  package static let mostPixels = 1 << 24

  /// Refuses what can't be asked for, whoever asks.
  ///
  /// - Parameter most: the most pixels of a side.
  /// - Throws: `PictureError` of code `badRequest`.
  func check(most: Int) throws(PictureError) {
    for side in size.map({ [$0.width, $0.height] }) ?? [maxPixelSize]
    where !(1...most).contains(side) {
      throw PictureError(
        .badRequest,
        "The longer side may have 1 to \(most) pixels, not \(side); "
          + "“onDemand.maxPixelSize” in the configuration says how many.")
    }
    guard let region else { return }
    let (places, sides) = ([region.x, region.y], [region.width, region.height])
    guard places.allSatisfy({ (0...Self.mostPixels).contains($0) }),
      sides.allSatisfy({ (1...Self.mostPixels).contains($0) })
    else { throw PictureError(.badRequest, "The region is none of a picture.") }
  }

  /// The request for the same picture in the only way that the cache knows: at its real size, and with a
  /// region that lies within the original.
  ///
  /// - Parameter size: the size of the upright original in pixels; `nil` if it is not known.
  /// - Throws: `PictureError` of code `badRequest` if the region lies outside the picture.
  func canonical(_ size: (width: Int, height: Int)?) throws(PictureError) -> PictureRequest {
    var request = self
    if let exact = self.size { request.maxPixelSize = exact.longest }
    guard let size else { return request }
    if var part = region {
      guard part.x < size.width, part.y < size.height else {
        throw PictureError(
          .badRequest,
          "The region at \(part.x),\(part.y) lies outside the picture, which has "
            + "\(size.width) × \(size.height) pixels.")
      }
      part.width = min(part.width, size.width - part.x)
      part.height = min(part.height, size.height - part.y)
      let isWhole = part.width == size.width && part.height == size.height
      request.region = isWhole ? nil : part
    }
    let shown = request.region.map { max($0.width, $0.height) } ?? max(size.width, size.height)
    if self.size == nil { request.maxPixelSize = min(maxPixelSize, shown) }
    return request
  }
}

/// Why there is no picture.
package struct PictureError: Error, Sendable {
  package enum Code: String, Sendable {
    /// It asks for what no picture can be.
    case badRequest
    /// The asset's file is of a type of which no pictures are made.
    case notAPicture
    /// The file can't be decoded, or would need more than a job may use.
    case undecodable
    /// The original is missing, or its bytes are not those that were imported.
    case damaged
    /// Too many wait for pictures; only a server says so.
    case busy
  }

  package let code: Code
  /// A sentence that says what, which and why.
  package let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  static let busy = PictureError(.busy, "Too many pictures are being made; try again in a moment.")
}
