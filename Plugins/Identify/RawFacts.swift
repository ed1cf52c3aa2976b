import Containers
import PipelineModel
import Vips

/// Facts about raw files that consist of TIFF tags.
enum RawFacts {
  /// Reads the tags; returns nothing if there are none.
  static func read(_ file: PictureFile, _ exif: ExifBlock?) throws(VipsError) -> [String: JSONValue]
  {
    try file.withTags { facts($0, exif) } ?? [:]
  }

  private static func facts(_ reader: TagReader, _ exif: ExifBlock?) -> [String: JSONValue] {
    guard let main = reader.directory(at: reader.first) else { return [:] }
    var facts: [String: JSONValue] = [:]
    let orientation = exif?.orientation ?? 1
    if let size = largest(reader, main, exif) {
      let swaps = orientation > 4
      facts["width"] = .integer(swaps ? size.height : size.width)
      facts["height"] = .integer(swaps ? size.width : size.height)
      facts["orientation"] = .integer(orientation)
    }
    return facts
  }

  /// The largest picture that any directory describes.
  private static func largest(
    _ reader: TagReader, _ main: TagReader.Directory, _ exif: ExifBlock?
  ) -> (width: Int, height: Int)? {
    var directories = [main] + reader.integers(0x014A, in: main).compactMap(reader.directory)
    var next = main.next
    for _ in 0..<8 {
      guard next > 0, let directory = reader.directory(at: next) else { break }
      directories.append(directory)
      next = directory.next
    }
    var sizes: [(width: Int, height: Int)] = directories.compactMap { directory in
      guard let width = reader.integer(0x0100, in: directory),
        let height = reader.integer(0x0101, in: directory)
      else { return nil }
      return (width, height)
    }
    if let width = exif?.width, let height = exif?.height { sizes.append((width, height)) }
    let sane = sizes.filter {
      (1...100_000).contains($0.width) && (1...100_000).contains($0.height)
    }
    return sane.max { $0.width * $0.height < $1.width * $1.height }
  }
}
