public import Foundation

/// A picture that somebody asks for.
public struct PictureRequest: Hashable, Sendable {
  /// A file format.
  public enum Format: String, CaseIterable, Sendable { case jpeg, webp, png, avif }

  /// A part of the upright original, in pixels.
  public struct Region: Hashable, Sendable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    /// - Parameters:
    ///   - x: pixels left of it.
    ///   - y: pixels above it.
    public init(x: Int, y: Int, width: Int, height: Int) {
      self.x = x
      self.y = y
      self.width = width
      self.height = height
    }
  }

  /// The most pixels of the longer side; a picture is never enlarged.
  public var maxPixelSize: Int
  /// The part to show; `nil` for the whole picture. What lies outside the original is left out.
  public var region: Region?
  /// The file format; `nil` for JPEG.
  public var format: Format?

  public init(maxPixelSize: Int, region: Region? = nil, format: Format? = nil) {
    self.maxPixelSize = maxPixelSize
    self.region = region
    self.format = format
  }
}

/// A picture of an asset, upright and without metadata.
public struct Picture: Hashable, Sendable {
  public let data: Data
  /// The media type, such as `image/jpeg`.
  public let type: String
  /// Pixels.
  public let width: Int
  /// Pixels.
  public let height: Int
  /// Whether another version of the plugin would make it differently.
  public let isStale: Bool
  /// What is wrong with the original's data, as a sentence; `nil` for nothing.
  public let damage: String?
}
