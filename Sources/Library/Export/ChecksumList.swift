import Files
import Glibc
import PipelineModel

/// The list `SHA256SUMS` of a destination, in the format of `sha256sum`.
///
/// Lines are appended when files are durable, so an export that was killed is known to the next one.
/// All lines are kept in memory.
///
/// Source: GNU coreutils, “md5sum invocation”.
struct ChecksumList {
  static let name = BytePath("SHA256SUMS")
  /// The name in the folder of staged files while the list is written anew.
  static let temporaryName = BytePath("SHA256SUMS.new")

  private let folder: Descriptor
  private var listed: [BytePath: Digest] = [:]
  /// The paths by what they contain; some may have got other bytes since.
  private var paths: [Digest: [BytePath]] = [:]
  /// What lines say that a later one replaced.
  private var replaced: [BytePath: [Digest]] = [:]
  /// The number of bytes to keep, and what must be appended to them to complete the last line.
  private var whole: (bytes: Int, end: [UInt8])?
  /// Open for appending; `nil` until there is a line to append.
  private var file: Descriptor?

  /// Reads the list, if there is one, and changes nothing.
  ///
  /// - Throws: `ExportError` of code `destination` if the file is something else.
  init(in folder: Descriptor) throws(ExportError) {
    self.folder = folder
    var foreign: [UInt8]?
    var size = 0
    var last: [UInt8]
    do throws(FileError) {
      last = try Self.forEachLine(in: folder) { line throws(FileError) in
        size += line.count + 1
        if let (path, digest) = Self.parse(line) {
          add(path, digest)
        } else if !line.isEmpty {
          foreign = foreign ?? line
        }
      }
      // Either a process was killed while it appended this, or somebody wrote the list by hand. The
      // path may be the beginning of another, so the bytes decide.
      if let (path, digest) = Self.parse(last), try folder.hasFile(path, digest) {
        add(path, digest)
        whole = (size + last.count, [UInt8(ascii: "\n")])
        last = []
      }
    } catch {
      throw ExportError(.destination, error.message, path: error.path)
    }
    if !last.isEmpty {
      if !Self.isBeginning(last) { foreign = foreign ?? last }
      whole = (size, [])
    }
    if let foreign {
      let path = folder.path.appending(Self.name)
      throw ExportError(
        .destination,
        "“\(path.printable)” is not a list of SHA-256 checksums: it contains "
          + "\(quoted(BytePath(bytes: foreign).description)). Move it away, or export to another "
          + "folder.", path: path)
    }
    for (path, digest) in listed { paths[digest, default: []].append(path) }
  }

  /// The digest that is recorded for a path.
  func digest(of path: BytePath) -> Digest? { listed[path] }

  /// Whether a digest is recorded for a path, or was until a later line replaced that.
  func hasRecorded(_ digest: Digest, of path: BytePath) -> Bool {
    listed[path] == digest || replaced[path]?.contains(digest) == true
  }

  /// The paths for which a digest is or was recorded.
  func paths(of digest: Digest) -> [BytePath] { paths[digest] ?? [] }

  private mutating func add(_ path: BytePath, _ digest: Digest) {
    if let former = listed.updateValue(digest, forKey: path), former != digest {
      replaced[path, default: []].append(former)
    }
  }

  /// Adds durable files, and waits until that is on disk, too.
  mutating func append(_ entries: [(path: BytePath, digest: Digest)]) throws(FileError) {
    var bytes: [UInt8] = []
    for (path, digest) in entries where listed[path] != digest {
      add(path, digest)
      paths[digest, default: []].append(path)
      bytes += Self.line(path, digest)
    }
    if bytes.isEmpty { return }
    let file: Descriptor
    if let open = self.file { file = open } else { file = try open() }
    self.file = file
    let size = try file.status().identity.size
    do throws(FileError) {
      try file.write(bytes)
      try file.syncData()
    } catch {
      // Some lines may have got there, of files that are to be others only after this. Clean-up: the
      // next export reads what is there.
      try? file.truncate(to: size)
      throw error
    }
  }

  private func open() throws(FileError) -> Descriptor {
    let file = try Descriptor.open(
      Self.name, in: folder, flags: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o666)
    if let whole {
      try file.truncate(to: whole.bytes)
      try file.write(whole.end)
    }
    try folder.sync()
    return file
  }

  /// Removes the lines that others replaced.
  ///
  /// - Parameter staging: a folder of the same file system.
  mutating func finish(by staging: Descriptor) throws(FileError) {
    guard !replaced.isEmpty else { return }
    // It completes the last line, if that has no end.
    if file == nil { _ = try open() }
    let new = try Descriptor.open(
      Self.temporaryName, in: staging, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
    var rest = listed
    var buffer: [UInt8] = []
    _ = try Self.forEachLine(in: folder) { line throws(FileError) in
      guard let (path, digest) = Self.parse(line), rest[path] == digest else { return }
      rest[path] = nil
      buffer += line + [UInt8(ascii: "\n")]
      if buffer.count < 1 << 20 { return }
      try new.write(buffer)
      buffer = []
    }
    try new.write(buffer)
    try new.sync()
    try staging.replace(Self.temporaryName, to: folder, as: Self.name)
    try folder.sync()
    (file, replaced) = (nil, [:])
  }

  /// - Returns: what follows the last line.
  private static func forEachLine(
    in folder: Descriptor, _ body: ([UInt8]) throws(FileError) -> Void
  ) throws(FileError) -> [UInt8] {
    let opened = try ifThere { () throws(FileError) in
      try Descriptor.openRegular(name, in: folder)
    }
    guard let file = opened else { return [] }
    var buffer = LineBuffer()
    try file.forEachChunk { chunk throws(FileError) in
      buffer.add(chunk)
      while let line = buffer.next() { try body(line) }
      // The longest path, each byte of it escaped.
      guard buffer.count <= 1 << 16 else {
        throw FileError(
          .other, "“\(file.path.printable)” is not a list of SHA-256 checksums; move it away.",
          path: file.path)
      }
    }
    return buffer.consumeRest()
  }

  // MARK: Lines

  /// Reads a line without its end.
  static func parse(_ line: some Collection<UInt8>) -> (path: BytePath, digest: Digest)? {
    var rest = Array(line)[...]
    let isEscaped = rest.first == UInt8(ascii: "\\")
    if isEscaped { rest = rest.dropFirst() }
    let digits = rest.prefix(64)
    guard let digest = Digest(String(decoding: digits, as: UTF8.self)) else { return nil }
    rest = rest.dropFirst(64)
    // A space, and a space for text or an asterisk for binary, which are the same here.
    guard rest.popFirst() == UInt8(ascii: " "), let mode = rest.popFirst(),
      mode == UInt8(ascii: " ") || mode == UInt8(ascii: "*"), !rest.isEmpty
    else { return nil }
    let path = BytePath(bytes: isEscaped ? unescaped(rest) : Array(rest))
    return (path == "./-" ? "-" : path, digest)
  }

  /// Whether bytes can be the beginning of a line that `line` made.
  private static func isBeginning(_ bytes: [UInt8]) -> Bool {
    let rest = bytes.first == UInt8(ascii: "\\") ? bytes.dropFirst() : bytes[...]
    let end = rest.dropFirst(64)
    return rest.prefix(64).allSatisfy { Array("0123456789abcdef".utf8).contains($0) }
      && end.prefix(2).allSatisfy { $0 == UInt8(ascii: " ") }
  }

  /// A line with its end.
  static func line(_ path: BytePath, _ digest: Digest) -> [UInt8] {
    // `-` alone would be standard input.
    let name = path == "-" ? BytePath("./-") : path
    let escaped = escaped(name.bytes)
    return (escaped.count > name.bytes.count ? Array("\\".utf8) : []) + Array(digest.hex.utf8)
      + Array("  ".utf8) + escaped + [UInt8(ascii: "\n")]
  }

  private static let escapes: [(byte: UInt8, letter: UInt8)] = [
    (UInt8(ascii: "\\"), UInt8(ascii: "\\")), (UInt8(ascii: "\n"), UInt8(ascii: "n")),
    (UInt8(ascii: "\r"), UInt8(ascii: "r")),
  ]

  private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { byte in
      escapes.first { $0.byte == byte }.map { [UInt8(ascii: "\\"), $0.letter] } ?? [byte]
    }
  }

  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), let letter = rest.first,
        let escape = escapes.first(where: { $0.letter == letter })
      {
        result.append(escape.byte)
        rest = rest.dropFirst()
      } else {
        result.append(byte)
      }
    }
    return result
  }
}

extension Descriptor {
  /// Whether there is a file of a digest at a path below this folder.
  fileprivate func hasFile(_ path: BytePath, _ digest: Digest) throws(FileError) -> Bool {
    do throws(FileError) {
      let file = try Descriptor.openRegular(path.lastComponent, in: openParent(of: path))
      return try file.hash().digest == digest
    } catch let error where error.code != .ioError {
      return false
    }
  }
}
