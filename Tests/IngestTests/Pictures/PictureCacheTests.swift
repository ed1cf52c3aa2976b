import Files
import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import Testing

@testable import Ingest

/// Pictures that were asked for, on disk.
@Suite("Cached pictures", .timeLimit(.minutes(5)))
struct PictureCacheTests {
  let temporary: TemporaryFolder
  let library: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    library = try Descriptor.openFolder(temporary.path)
    try library.makeFolder("renditions")
  }

  private func cache(_ budget: Int = 1 << 30) throws -> PictureCache {
    try PictureCache(in: library, budget: budget)
  }

  private func key(
    _ number: Int, size: Int = 100, region: PictureKey.Region? = nil,
    format: PictureKey.Format = .jpeg, exact: PictureKey.Size? = nil,
    finish: PictureKey.Finish = PictureKey.Finish()
  ) -> PictureKey {
    PictureKey(
      digest: SHA256.digest(of: Array("\(number)".utf8)), maxPixelSize: size, region: region,
      format: format, size: exact, finish: finish)
  }

  private func picture(_ bytes: [UInt8], maker: String = "one") -> CachedPicture {
    CachedPicture(
      bytes: bytes, mediaType: "image/jpeg", width: 100, height: 50, maker: maker,
      damage: "A line is missing.")
  }

  private var folder: String { temporary.appending("renditions/.on-demand").description }

  /// The pictures' files, as absolute paths.
  private func files() throws -> [URL] {
    let folders = try FileManager.default.contentsOfDirectory(
      at: URL(fileURLWithPath: folder), includingPropertiesForKeys: nil)
    return try folders.filter { $0.lastPathComponent.count == 2 }.flatMap {
      try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
    }
  }

  private func bytes() throws -> Int {
    try files().reduce(0) { try $0 + Data(contentsOf: $1).count }
  }

  @Test("What was stored is found again, by an equal key only, and replaced")
  func found() throws {
    let cache = try cache()
    let region = PictureKey.Region(x: 1, y: 2, width: 3, height: 4)
    let keys = [
      key(1), key(2), key(1, size: 101), key(1, region: region), key(1, format: .webp),
      key(1, region: .init(x: 12, y: 3, width: 4, height: 5)),
      key(1, region: .init(x: 1, y: 23, width: 4, height: 5)),
      key(1, exact: .init(width: 100, height: 90)), key(1, exact: .init(width: 90, height: 100)),
      key(1, finish: .init(rotation: .quarter)), key(1, finish: .init(rotation: .half)),
      key(1, finish: .init(isMirrored: true)), key(1, finish: .init(quality: .gray)),
      key(1, finish: .init(quality: .bitonal)),
      key(1, finish: .init(rotation: .quarter, isMirrored: true, quality: .gray)),
    ]
    for (index, key) in keys.enumerated() {
      #expect(try cache.picture(key) == nil)
      try cache.store(picture([UInt8(index)]), for: key)
    }
    for (index, key) in keys.enumerated() {
      #expect(try cache.picture(key) == picture([UInt8(index)]))
    }
    try cache.store(picture([9, 9], maker: "another"), for: keys[0])
    #expect(try cache.picture(keys[0]) == picture([9, 9], maker: "another"))
    try cache.remove(keys[1].digest)
    #expect(try cache.picture(keys[1]) == nil)
    #expect(try cache.picture(keys[2]) != nil)
    try cache.remove(keys[0].digest)
    #expect(try files().isEmpty)
  }

  @Test("A file of which any byte is wrong or missing, or that is another's, is a miss")
  func damaged() throws {
    let cache = try cache()
    let key = key(1)
    try cache.store(picture(Array("picture".utf8)), for: key)
    let file = try #require(try files().first)
    let whole = try Data(contentsOf: file)
    for index in whole.indices {
      var wrong = whole
      wrong[index] ^= 1
      try wrong.write(to: file)
      #expect(try cache.picture(key) == nil, "byte \(index)")
      try whole.prefix(index).write(to: file)
      #expect(try cache.picture(key) == nil, "cut at \(index)")
    }
    try (whole + [0]).write(to: file)
    #expect(try cache.picture(key) == nil)
    try whole.write(to: file)
    #expect(try cache.picture(key) != nil)
    let other = self.key(1, size: 99)
    try FileManager.default.moveItem(
      at: file,
      to: file.deletingLastPathComponent().appending(path: other.fileName.description))
    #expect(try cache.picture(other) == nil)
    try cache.store(picture([1]), for: other)
    #expect(try cache.picture(other) != nil)
  }

  @Test("10,000 different pictures stay within the budget, and the recently read ones stay")
  func budget() throws {
    let budget = 300_000
    let cache = try cache(budget)
    let favourite = key(-1)
    try cache.store(picture([7]), for: favourite)
    let content = [UInt8](repeating: 1, count: 1000)
    for number in 0..<10_000 {
      try cache.store(picture(content), for: key(number))
      // Times of the kernel's clock differ after some milliseconds only; here they must.
      if number % 20 == 0 { #expect(try cache.picture(favourite) != nil, "\(number)") }
      if number % 500 == 0 { #expect(try bytes() <= budget, "\(number)") }
    }
    #expect(try bytes() <= budget)
    #expect(try bytes() > budget / 2)
    #expect(try cache.picture(key(9_999)) != nil)
    #expect(try cache.picture(key(0)) == nil)
  }

  @Test(
    "The sum is counted again if it is missing, torn or of another boot",
    arguments: ["", "garbage", "0000 5 bytes\n", "5"])
  func recounted(sum: String) throws {
    let budget = 20_000
    let cache = try cache(budget)
    for number in 0..<10 {
      try cache.store(picture([UInt8](repeating: 1, count: 1000)), for: key(number))
    }
    try Data(sum.utf8).write(to: URL(fileURLWithPath: "\(folder)/size"))
    for number in 10..<30 {
      try cache.store(picture([UInt8](repeating: 1, count: 1000)), for: key(number))
      #expect(try bytes() <= budget)
    }
  }

  @Test("A picture larger than the budget is not kept, nor is any with a budget of nothing")
  func large() throws {
    try cache(1000).store(picture([UInt8](repeating: 1, count: 1000)), for: key(1))
    try cache(0).store(picture([1]), for: key(1))
    #expect(try files().isEmpty)
  }

  @Test("A library without the folder has no pictures, and nothing makes one to remove from it")
  func absent() throws {
    #expect(try PictureCache.ifPresent(in: library) == nil)
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test("Folders of owners that are gone are removed, others stay")
  func workFolders() throws {
    let cache = try cache()
    let living = try cache.makeWorkFolder { _, _ in }
    let left = "\(folder)/work/pipeline-picture-1-1"
    try FileManager.default.createDirectory(
      atPath: "\(left)/worker-1", withIntermediateDirectories: true)
    var ended: [BytePath] = []
    do {
      let another = try cache.makeWorkFolder { name, _ in ended.append(name) }
      #expect(another.folder.path != living.folder.path)
    }
    #expect(ended == ["worker-1"])
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/work")
    #expect(names.map { BytePath($0) } == [living.folder.path.lastComponent])
  }
}
