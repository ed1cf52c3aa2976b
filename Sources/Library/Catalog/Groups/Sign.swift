import PipelineModel
import Query

/// What a file says of the burst or the Live Photo that it belongs to, whatever others are called.
struct Sign: Hashable {
  enum Kind: String, Hashable {
    case burst, livePhoto
  }

  var kind: Kind
  /// What all files of the burst or the Live Photo have in common, and files of other sources don't.
  var value: [UInt8]
  /// Whether the file is a film.
  var isMovie: Bool
  /// Whether the camera chose this picture to stand for the burst.
  var isCover = false
  /// How few pictures may be a burst.
  var leastFrames = 2
  /// When it was taken, by the clock on the spot, in microseconds since 1970.
  var taken: Int64?
  /// Maker and model, folded.
  var camera: String?

  /// Whether a file may have signs; for most, this is all that is asked.
  static func isPossible(_ values: AssetValues) -> Bool {
    values.contentIdentifier != nil || values.burstIdentifier != nil
      || path(values).flatMap { BurstName($0) } != nil
  }

  /// The signs of a file, ordered by kind.
  ///
  /// - Parameter source: the row of its source.
  static func all(_ asset: AssetID, source: Int64, _ values: AssetValues) -> [Sign] {
    guard let path = path(values), let file = GroupCandidate(asset, name: path, values),
      [.still, .raw, .movie].contains(file.part)
    else { return [] }
    func sign(_ kind: Kind, _ value: [UInt8]) -> Sign {
      Sign(
        kind: kind, value: Array("\(source) ".utf8) + value, isMovie: file.part == .movie,
        taken: file.isTakenOnDay ? nil : file.taken, camera: file.camera)
    }
    var signs: [Sign] = []
    if file.part != .movie {
      let name = BurstName(path)
      if let identifier = values.burstIdentifier {
        var sign = sign(.burst, Array("identifier \(identifier)".utf8))
        sign.isCover = values.isBurstPrimary || name?.isCover == true
        signs.append(sign)
      } else if let name {
        var sign = sign(.burst, Array("name ".utf8) + name.series)
        (sign.isCover, sign.leastFrames) = (name.isCover, name.leastFrames)
        signs.append(sign)
      }
    }
    if let identifier = file.contentIdentifier {
      signs.append(sign(.livePhoto, Array(identifier.utf8)))
    }
    return signs
  }

  private static func path(_ values: AssetValues) -> BytePath? {
    values.rawPaths[.path] ?? values.texts[.path]?.first.map { BytePath($0) }
  }

  // MARK: - Cameras

  /// Whether no two of some cameras contradict each other; one may be a part of the other.
  static func areConsistent(_ cameras: Set<String>) -> Bool {
    // More are taken for contradictions, so that hostile files cost no time.
    guard cameras.count <= 4 else { return false }
    return cameras.allSatisfy { camera in
      cameras.allSatisfy { $0.contains(camera) || camera.contains($0) }
    }
  }
}
