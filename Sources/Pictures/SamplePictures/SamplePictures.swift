import Files
import Glibc
import PipelineModel
import Vips

/// Draws pictures for trying out the program.
///
/// `sample-pictures FOLDER` writes a few of different kinds; `sample-pictures FOLDER N` writes N of
/// eight megapixels, for benchmarks.
@main
enum SamplePictures {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    guard let name = words.first, words.count <= 2 else { return fail("usage: FOLDER [N]", 2) }
    do {
      let working = try FileSystem.workingFolder()
      let folder = try Descriptor.openFolder(working.appending(BytePath(name)).normalized)
      guard let text = words.dropFirst().first else {
        for sample in try Sample.few() { try write(sample, to: folder) }
        return
      }
      guard let count = Int(text), (1...28).contains(count) else {
        return fail("“\(text)” is not a number from 1 to 28", 2)
      }
      for number in 1...count { try write(try Sample.photograph(number), to: folder) }
    } catch {
      fail("\(error)", 1)
    }
  }

  private static func write(_ sample: Sample, to folder: Descriptor) throws(FileError) {
    try folder.writeDurably(sample.bytes, as: BytePath(sample.name), mode: 0o644)
  }

  private static func fail(_ message: String, _ code: Int32) {
    let line = Array("sample-pictures: \(message)\n".utf8)
    _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(code)
  }
}

struct Sample {
  let name: String
  let bytes: [UInt8]

  /// Creates the pictures that `make run` puts into an empty inbox.
  static func few() throws(VipsError) -> [Sample] {
    [
      Sample(name: "landscape.jpg", bytes: try landscape()),
      Sample(name: "portrait.jpg", bytes: try portrait()),
      Sample(name: "transparent.png", bytes: try transparent()),
      Sample(name: "grey.jpg", bytes: try grey()),
    ]
  }

  /// Creates one picture of eight megapixels with the grain of a photograph.
  static func photograph(_ number: Int) throws(VipsError) -> Sample {
    let picture = try painted(Scene(seed: number, grain: 24), width: 3456, height: 2304)
    return Sample(name: "photograph-\(number).jpg", bytes: try picture.encoded(as: ".jpg[Q=92]"))
  }

  private static func landscape() throws(VipsError) -> [UInt8] {
    try painted(Scene(seed: 1, grain: 8), width: 1800, height: 1200).encoded(as: ".jpg[Q=88]")
  }

  private static func painted(
    _ scene: Scene, width: Int, height: Int
  ) throws(VipsError) -> Picture {
    let pixels = scene.pixels(width: width, height: height)
    let picture = try Picture.pixels(pixels, width: width, height: height, bands: 3)
    return try dated(picture, orientation: 1, day: scene.seed)
  }

  /// An upright picture that is stored rotated, as phones do.
  private static func portrait() throws(VipsError) -> [UInt8] {
    let (width, height) = (1200, 1600)
    let upright = Scene(seed: 2, grain: 8).pixels(width: width, height: height)
    var stored: [UInt8] = []
    stored.reserveCapacity(upright.count)
    // Orientation 6: the first stored row is the right side, the first column the top.
    for row in 0..<width {
      for column in 0..<height {
        let at = (column * width + width - 1 - row) * 3
        stored += upright[at..<(at + 3)]
      }
    }
    let picture = try Picture.pixels(stored, width: height, height: width, bands: 3)
    return try dated(picture, orientation: 6, day: 2).encoded(as: ".jpg[Q=88]")
  }

  /// A disc that fades to full transparency at its rim.
  private static func transparent() throws(VipsError) -> [UInt8] {
    let size = 800
    let scene = Scene(seed: 3, grain: 0).pixels(width: size, height: size)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size * size * 4)
    for y in 0..<size {
      for x in 0..<size {
        let (dx, dy) = (x - size / 2, y - size / 2)
        let distance = Double(dx * dx + dy * dy) / Double(size * size / 4)
        let at = (y * size + x) * 3
        bytes += scene[at..<(at + 3)]
        bytes.append(UInt8(max(0, min(255, (1 - distance) * 510))))
      }
    }
    return try Picture.pixels(bytes, width: size, height: size, bands: 4).encoded(as: ".png")
  }

  private static func grey() throws(VipsError) -> [UInt8] {
    let (width, height) = (1280, 960)
    let scene = Scene(seed: 4, grain: 16).pixels(width: width, height: height)
    let bytes = (0..<(width * height)).map { scene[$0 * 3 + 1] }
    return try Picture.pixels(bytes, width: width, height: height, bands: 1)
      .encoded(as: ".jpg[Q=88]")
  }

  /// Adds a camera's metadata: orientation and date.
  private static func dated(
    _ picture: Picture, orientation: Int, day: Int
  ) throws(VipsError) -> Picture {
    try picture.editingMetadata { editor in
      editor.set("orientation", orientation)
      let two = day < 10 ? "0\(day)" : "\(day)"
      editor.set("exif-ifd2-DateTimeOriginal", "2024:05:\(two) 07:08:09")
    }
  }
}
