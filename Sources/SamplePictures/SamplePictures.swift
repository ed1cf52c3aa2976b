import Files
import Glibc
import PipelineModel

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
