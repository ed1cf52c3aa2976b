import Files
import Glibc
import PipelineModel

/// The list `SHA256SUMS` of a destination, in the format of `sha256sum`.
///
/// Lines are appended when files are durable, so an export that was killed is known to the next one.
/// Lines of earlier exports are kept in memory.
///
/// Source: GNU coreutils, “md5sum invocation”.
struct ChecksumList {
  static let name = BytePath("SHA256SUMS")
  private static let temporaryName = BytePath(".SHA256SUMS.new")

  private let folder: Descriptor
  /// The lines of earlier exports.
  private var listed: [BytePath: Digest]
  /// Whether a process that was killed while it appended left part of a line.
  private var isTorn: Bool
  /// Open for appending; `nil` until there is a line to append.
  private var file: Descriptor?

  /// Reads the list, if there is one.
  ///
  /// - Throws: `ExportError` of code `destination` if the file is something else.
  init(in folder: Descriptor) throws(ExportError) {
    self.folder = folder
    var foreign: [UInt8]?
    var listed: [BytePath: Digest] = [:]
    let rest: Int
    do throws(FileError) {
      rest = try Self.forEachLine(in: folder) { line throws(FileError) in
        if let (path, digest) = Self.parse(line) {
          listed[path] = digest
        } else if !line.isEmpty {
          foreign = foreign ?? line
        }
      }
    } catch {
      throw ExportError(.destination, error.message, path: error.path)
    }
    if let foreign {
      let path = folder.path.appending(Self.name)
      throw ExportError(
        .destination,
        "“\(path.printable)” is not a list of SHA-256 checksums: it contains "
          + "\(quoted(BytePath(bytes: foreign).description)). Move it away, or export to another "
          + "folder.", path: path)
    }
    self.listed = listed
    isTorn = rest > 0
  }

  /// The digest that an earlier export recorded for a path.
  func digest(of path: BytePath) -> Digest? { listed[path] }

  /// Adds durable files.
  mutating func append(_ entries: [(path: BytePath, digest: Digest)]) throws(FileError) {
    let changed = entries.filter { listed[$0.path] != $0.digest }
    let replaced = changed.filter { listed[$0.path] != nil }.map(\.path)
    if changed.isEmpty { return }
    if isTorn || !replaced.isEmpty {
      try rewrite(without: Set(replaced))
      (file, isTorn) = (nil, false)
    }
    let file: Descriptor
    if let open = self.file { file = open } else { file = try open() }
    self.file = file
    try file.write(changed.flatMap { Self.line($0.path, $0.digest) })
    try file.syncData()
    for (path, digest) in changed where listed[path] != nil { listed[path] = digest }
  }

  private func open() throws(FileError) -> Descriptor {
    let file = try Descriptor.open(
      Self.name, in: folder, flags: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o666)
    try folder.sync()
    return file
  }

  /// Writes the list anew, without some paths and without part of a line.
  private func rewrite(without paths: Set<BytePath>) throws(FileError) {
    let new = try Descriptor.open(
      Self.temporaryName, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o666)
    do throws(FileError) {
      var buffer: [UInt8] = []
      _ = try Self.forEachLine(in: folder) { line throws(FileError) in
        if let path = Self.parse(line)?.path, paths.contains(path) { return }
        buffer += line + [UInt8(ascii: "\n")]
        if buffer.count < 1 << 20 { return }
        try new.write(buffer)
        buffer = []
      }
      try new.write(buffer)
      try new.sync()
      try folder.replace(Self.temporaryName, to: folder, as: Self.name)
    } catch {
      // Clean-up: report the first error.
      try? folder.remove(Self.temporaryName)
      throw error
    }
    try folder.sync()
  }

  /// - Returns: the number of bytes after the last line.
  private static func forEachLine(
    in folder: Descriptor, _ body: ([UInt8]) throws(FileError) -> Void
  ) throws(FileError) -> Int {
    let opened = try ifThere { () throws(FileError) in
      try Descriptor.openRegular(name, in: folder)
    }
    guard let file = opened else { return 0 }
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
    return buffer.count
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
