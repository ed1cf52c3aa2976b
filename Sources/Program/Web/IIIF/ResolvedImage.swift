import Ingest
import LibrarySession
import PipelineModel

/// What an address asks for of one image, in pixels.
struct ResolvedImage: Hashable, Sendable {
  /// `nil` for the whole image.
  let region: PictureKey.Region?
  /// Before it is turned.
  let size: PictureKey.Size
  /// Whether it is the tile that has the whole image.
  private let isOverview: Bool
  let finish: PictureKey.Finish
  let format: PictureKey.Format
  /// What is behind the identifier in the one address of all that ask for the same. Source: IIIF Image API
  /// 3.0, section 4.7.
  let canonical: String

  /// - Parameters:
  ///   - image: the size of the upright image.
  ///   - most: the most pixels of a side of what is handed out.
  /// - Throws: 400 for a region outside of the image, or a size that it can't have.
  init(
    _ parameters: ImageParameters, of image: PictureKey.Size, most: Int
  ) throws(HTTPError) {
    let part = try Self.part(parameters.region, of: image)
    let isWhole = part.width == image.width && part.height == image.height
    region = isWhole ? nil : part
    let shown = PictureKey.Size(width: part.width, height: part.height)
    size = try Self.size(parameters, of: shown, most: most)
    isOverview = isWhole && size == ImageInformation.overview(of: image, most: most)
    finish = parameters.finish
    format = parameters.format
    let isEnlarged = size.width > shown.width || size.height > shown.height
    let largest = shown.reduced(toFit: most, most)
    let place = isWhole ? "full" : "\(part.x),\(part.y),\(part.width),\(part.height)"
    let measure =
      size == largest ? "max" : "\(isEnlarged ? "^" : "")\(size.width),\(size.height)"
    let turn = "\(finish.isMirrored ? "!" : "")\(finish.rotation.rawValue)"
    let quality = finish.quality == .color ? "default" : finish.quality.rawValue
    let name = ImageParameters.formats.first { $0.format == parameters.format }?.name ?? ""
    canonical = "\(place)/\(measure)/\(turn)/\(quality).\(name)"
  }

  /// The picture to ask for.
  var request: PictureRequest {
    PictureRequest(
      maxPixelSize: size.longest, region: region, format: format, size: size,
      isOverview: isOverview, finish: finish)
  }

  private static func part(
    _ region: ImageParameters.Region, of image: PictureKey.Size
  ) throws(HTTPError) -> PictureKey.Region {
    var part: PictureKey.Region
    switch region {
    case .full: return .init(x: 0, y: 0, width: image.width, height: image.height)
    case .square:
      let side = min(image.width, image.height)
      return .init(
        x: (image.width - side) / 2, y: (image.height - side) / 2, width: side, height: side)
    case .pixels(let x, let y, let width, let height):
      part = .init(x: x, y: y, width: width, height: height)
    case .percent(let x, let y, let width, let height):
      func pixels(_ percent: Double, _ side: Int) -> Int {
        Int((min(percent, 100) / 100 * Double(side)).rounded())
      }
      part = .init(
        x: pixels(x, image.width), y: pixels(y, image.height),
        width: max(1, pixels(width, image.width)), height: max(1, pixels(height, image.height)))
    }
    guard part.x < image.width, part.y < image.height else {
      throw .badRequest(
        "The region is outside of the image, which has \(image.width) × \(image.height) pixels.")
    }
    part.width = min(part.width, image.width - part.x)
    part.height = min(part.height, image.height - part.y)
    return part
  }

  private static func size(
    _ parameters: ImageParameters, of shown: PictureKey.Size, most: Int
  ) throws(HTTPError) -> PictureKey.Size {
    let size: PictureKey.Size
    switch parameters.size {
    case .max:
      size = parameters.mayEnlarge ? shown.fitted(to: most, most) : shown.reduced(toFit: most, most)
    case .width(let width):
      size = .init(width: width, height: shown.scaled(shown.height, width, shown.width))
    case .height(let height):
      size = .init(width: shown.scaled(shown.width, height, shown.height), height: height)
    case .percent(let percent):
      func pixels(_ side: Int) -> Int {
        max(1, Int(min(1e9, percent / 100 * Double(side)).rounded()))
      }
      size = .init(width: pixels(shown.width), height: pixels(shown.height))
    case .exact(let width, let height): size = .init(width: width, height: height)
    case .within(let width, let height): size = shown.fitted(to: width, height)
    }
    guard parameters.mayEnlarge || size.width <= shown.width && size.height <= shown.height else {
      throw .badRequest(
        "The region has only \(shown.width) × \(shown.height) pixels; a size behind “^” enlarges it."
      )
    }
    guard size.longest <= most else {
      throw .badRequest("An image has at most \(most) pixels a side, not \(size.longest).")
    }
    return size
  }
}

extension PictureKey.Size {
  /// The largest size of the same shape that fits.
  func fitted(to width: Int, _ height: Int) -> PictureKey.Size {
    // Compared without division, which would round: which side is the first to touch.
    if self.width * height > self.height * width {
      PictureKey.Size(width: width, height: min(height, scaled(self.height, width, self.width)))
    } else {
      PictureKey.Size(width: min(width, scaled(self.width, height, self.height)), height: height)
    }
  }

  /// The same, never larger than this.
  func reduced(toFit width: Int, _ height: Int) -> PictureKey.Size {
    self.width <= width && self.height <= height ? self : fitted(to: width, height)
  }

  /// A side in proportion to another one, at least a pixel.
  func scaled(_ side: Int, _ numerator: Int, _ denominator: Int) -> Int {
    max(1, Int((Double(side) * Double(numerator) / Double(denominator)).rounded()))
  }
}
