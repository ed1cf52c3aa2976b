package import Files
import Glibc
package import PipelineModel

/// The pictures that were made because somebody asked for them: `renditions/.on-demand/` in the library.
///
/// Any process may fill it, with or without the library's lock. Nothing in it is needed, so nothing is flushed:
/// a file that a crash tore is a miss, since its digest doesn't match. The least recently read files make
/// room for new ones.
package struct PictureCache: Sendable {
  /// The folder below `renditions/`, named as no stage can be.
  static let name: BytePath = ".on-demand"
  /// The bytes of the lock file that are locked: the first by who changes the folder, the next ones by
  /// who makes a picture, the others by who makes a certain one.
  static let changeByte: Int64 = 0
  package static let firstKeyByte = 1024

  private static let lockName: BytePath = "lock"
  private static let sizeName: BytePath = "size"
  private static let makerName: BytePath = "maker"
  private static let workName: BytePath = "work"
  private static let temporaryName: BytePath = ".new"
  /// The largest file that is read.
  private static let mostFileBytes = 1 << 30

  private let folder: Descriptor
  /// The most bytes of all files together.
  private let budget: Int

  /// Opens the cache, and makes its folder if it is missing.
  ///
  /// - Parameters:
  ///   - library: the library's folder.
  ///   - budget: the most bytes of all pictures together.
  /// - Throws: `FileError`, of code `untrusted` for a folder of another user.
  package init(in library: Descriptor, budget: Int) throws(FileError) {
    let renditions = try Descriptor.openFolder("renditions", in: library, followsLinks: false)
    if try renditions.statusIfThere(of: Self.name) == nil {
      try renditions.makeFolder(Self.name)
    }
    folder = try Descriptor.openFolder(Self.name, in: renditions, followsLinks: false)
    try folder.requireOwn("The library's folder")
    self.budget = budget
  }

  /// Opens the cache if there is one.
  package static func ifPresent(in library: Descriptor) throws(FileError) -> PictureCache? {
    let renditions = try ifThere { () throws(FileError) in
      try Descriptor.openFolder("renditions", in: library, followsLinks: false)
    }
    guard let renditions, try renditions.statusIfThere(of: name) != nil else { return nil }
    return try PictureCache(in: library, budget: 0)
  }

  // MARK: Reading

  /// Returns a picture, whoever made it; `nil` if it is missing or damaged.
  package func picture(_ key: PictureKey) throws(FileError) -> CachedPicture? {
    let file = try ifThere { () throws(FileError) in
      let place = try Descriptor.openFolder(key.folderName, in: folder, followsLinks: false)
      return try Descriptor.openRegular(key.fileName, in: place)
    }
    guard let file,
      let picture = CachedPicture(
        fileContent: try file.readToEnd(limit: Self.mostFileBytes), for: key)
    else { return nil }
    // When it was last read. A library that can't be written forgets nothing anyway.
    _ = futimens(file.number, nil)
    return picture
  }

  /// What was noted about who makes pictures; `nil` if nothing was.
  package func makerNote() throws(FileError) -> [UInt8]? {
    try folder.readFileIfThere(Self.makerName, limit: 1 << 16)
  }

  // MARK: Locks

  /// Waits until nobody else makes this picture. Blocks the calling thread.
  package func lock(_ key: PictureKey) throws(FileError) -> ByteLock {
    try ByteLock.wait(for: key.lockByte, of: Self.lockName, in: folder)
  }

  /// Waits until fewer than `most` pictures are made, in all processes. Blocks the calling thread.
  package func lockPlace(for key: PictureKey, of most: Int) throws(FileError) -> ByteLock {
    let places = 1...Int64(min(max(1, most), Self.firstKeyByte - 1))
    for place in places {
      if let lock = try ByteLock.attempt(place, of: Self.lockName, in: folder) { return lock }
    }
    return try ByteLock.wait(
      for: 1 + key.lockByte % Int64(places.count), of: Self.lockName, in: folder)
  }

  private func lockForChange() throws(FileError) -> ByteLock {
    try ByteLock.wait(for: Self.changeByte, of: Self.lockName, in: folder)
  }

  // MARK: Writing

  /// Adds a picture, or replaces it; removes others if there is too little room.
  ///
  /// A picture larger than the budget is not kept.
  ///
  /// - Throws: `FileError`; what was there before is there still.
  package func store(_ picture: CachedPicture, for key: PictureKey) throws {
    let content = try picture.fileContent(for: key)
    guard content.count <= budget else { return }
    let change = try lockForChange()
    defer { withExtendedLifetime(change) {} }
    try folder.makeFolder(key.folderName)
    let place = try Descriptor.openFolder(key.folderName, in: folder, followsLinks: false)
    let former = try place.statusIfThere(of: key.fileName)?.identity.size ?? 0
    // Recorded before the file gets its name: after a kill the sum is too large rather than too small,
    // and the next survey corrects it. The former file is there until then.
    var sum = try recordedSum() ?? survey().sum
    if sum + content.count > budget { sum = try makeRoom(for: content.count) }
    try record(sum + content.count)
    try write(content, as: Self.temporaryName, in: folder)
    try folder.replace(Self.temporaryName, to: place, as: key.fileName)
    if former > 0 { try record(max(0, sum + content.count - former)) }
  }

  /// Notes who makes pictures.
  package func note(maker: [UInt8]) throws(FileError) {
    let change = try lockForChange()
    defer { withExtendedLifetime(change) {} }
    try write(maker, as: Self.temporaryName, in: folder)
    try folder.replace(Self.temporaryName, to: folder, as: Self.makerName)
  }

  /// Removes the pictures of an original.
  package func remove(_ digest: Digest) throws(FileError) {
    let name = PictureKey.folderName(of: digest)
    guard try folder.statusIfThere(of: name) != nil else { return }
    let change = try lockForChange()
    defer { withExtendedLifetime(change) {} }
    let place = try Descriptor.openFolder(name, in: folder, followsLinks: false)
    let prefix = Array("\(digest.hex)-".utf8)
    var removed = 0
    for entry in try place.entries() where entry.name.bytes.starts(with: prefix) {
      removed += try place.statusIfThere(of: entry.name)?.identity.size ?? 0
      try place.removeTree(entry)
    }
    if removed > 0, let sum = try recordedSum() { try record(max(0, sum - removed)) }
  }

  /// Removes a picture that must not stay.
  package func remove(_ key: PictureKey) throws(FileError) { try remove(key.digest) }

  private func write(
    _ bytes: [UInt8], as name: BytePath, in folder: Descriptor
  ) throws(FileError) {
    // Whoever left one there was killed: only who holds the lock writes it.
    let file = try Descriptor.open(
      name, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    do throws(FileError) {
      try file.write(bytes)
    } catch {
      // Clean-up: the first error is the one to report.
      try? folder.remove(name)
      throw error
    }
  }

  // MARK: Room

  private struct Entry {
    var folder: BytePath
    var name: BytePath
    var size: Int
    /// When it was last read.
    var read: Int64
  }

  /// Removes the least recently read pictures until an eighth of the budget is free beside the new
  /// picture, so that the folders are surveyed once in a while only.
  ///
  /// - Returns: the bytes of the pictures left.
  private func makeRoom(for bytes: Int) throws(FileError) -> Int {
    var (sum, entries) = try survey()
    let goal = max(0, budget - bytes - budget / 8)
    guard sum > goal else { return sum }
    entries.sort { $0.read < $1.read }
    for entry in entries where sum > goal {
      let place = try Descriptor.openFolder(entry.folder, in: folder, followsLinks: false)
      try place.removeIfThere(entry.name)
      sum -= entry.size
    }
    return sum
  }

  /// Lists all pictures.
  private func survey() throws(FileError) -> (sum: Int, entries: [Entry]) {
    var entries: [Entry] = []
    for inner in try folder.entries() where Self.isPictureFolder(inner.name) {
      let place = try Descriptor.openFolder(inner.name, in: folder, followsLinks: false)
      for entry in try place.entries() {
        guard let status = try place.statusIfThere(of: entry.name) else { continue }
        entries.append(
          Entry(
            folder: inner.name, name: entry.name, size: status.identity.size,
            read: status.identity.modified))
      }
    }
    return (entries.reduce(0) { $0 + $1.size }, entries)
  }

  private static func isPictureFolder(_ name: BytePath) -> Bool {
    name.bytes.count == 2 && Hexadecimal.decode(name.bytes) != nil
  }

  /// The bytes of all pictures as recorded; `nil` if that must be counted.
  private func recordedSum() throws(FileError) -> Int? {
    guard let bytes = try folder.readFileIfThere(Self.sizeName, limit: 256) else { return nil }
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    // After a crash of the machine, files may be there that were not recorded.
    guard words.count == 3, words[0] == Self.boot, words[2] == "bytes\n", let sum = Int(words[1]),
      sum >= 0
    else { return nil }
    return sum
  }

  private func record(_ sum: Int) throws(FileError) {
    try write(Array("\(Self.boot) \(sum) bytes\n".utf8), as: Self.sizeName, in: folder)
  }

  /// The boot's id; source: random(4).
  private static let boot: String = {
    let path: BytePath = "/proc/sys/kernel/random/boot_id"
    // Without one, all boots count as the same.
    let bytes = try? Descriptor.open(path, flags: O_RDONLY).readToEnd(limit: 4096)
    return bytes.flatMap { String(decoding: $0, as: UTF8.self).split(separator: "\n").first }
      .map(String.init) ?? "unknown"
  }()

  // MARK: Working folders

  /// Makes a folder for making one picture, and removes those of processes that were killed.
  ///
  /// - Parameter endSurvivors: called with the name of each folder to remove.
  package func makeWorkFolder(
    _ endSurvivors: (BytePath, Descriptor) -> Void
  ) throws(FileError) -> PictureWorkFolder {
    let change = try lockForChange()
    defer { withExtendedLifetime(change) {} }
    try folder.makeFolder(Self.workName)
    let work = try Descriptor.openFolder(Self.workName, in: folder, followsLinks: false)
    for entry in try work.entries() {
      // One that is gone was removed by its owner meanwhile; a file was put here by somebody else.
      guard
        let left = try? Descriptor.openFolder(entry.name, in: work, followsLinks: false),
        // Otherwise its owner lives, or the file system can't tell.
        left.lockIfFree() == true
      else { continue }
      for inner in try left.entries() { endSurvivors(inner.name, left) }
      try work.removeTree(entry)
    }
    return try PictureWorkFolder(in: work)
  }
}
