import Files
import Fixtures
import PipelineModel
import Testing

@testable import Manifest

/// Lines as they are, for who keeps them elsewhere.
@Suite("Lines of the journal", .timeLimit(.minutes(2)))
struct ManifestLineTests {
  let journal: Journal
  let other: Journal

  init() throws {
    journal = try Journal()
    other = try Journal()
  }

  private func fact(_ number: Int) -> ManifestFact { .trashed(asset: Journal.id(number)) }

  /// All lines after a fact, as they are returned.
  private func pieces(of manifest: Manifest, after fact: Int64 = 0) throws -> [ManifestLines] {
    var pieces: [ManifestLines] = []
    while let lines = try manifest.lines(after: pieces.last?.last ?? fact) { pieces.append(lines) }
    return pieces
  }

  private func file(_ journal: Journal) throws -> [UInt8] {
    try journal.segments().flatMap { try journal.bytes(of: $0) }
  }

  @Test("Lines are those of the files, whether they were just appended or are from before")
  func same() throws {
    let manifest = try journal.open(segmentSize: 400)
    #expect(try manifest.lines(after: 0) == nil)
    for number in 0..<9 {
      try manifest.append([fact(number), fact(100 + number)], asTransaction: number > 4)
    }
    #expect(try journal.segments().count > 3)
    let bytes = try file(journal)
    // From memory, then from the files.
    for manifest in [manifest, try journal.open()] {
      let pieces = try pieces(of: manifest)
      #expect(pieces.flatMap(\.bytes) == bytes)
      #expect(pieces.first?.first == 1 && pieces.last?.last == 18)
    }
    let rest = try journal.open().lines(after: 17)
    #expect(
      rest == ManifestLines(first: 18, last: 18, bytes: Array(bytes.suffix(rest?.bytes.count ?? 0)))
    )
    #expect(try journal.open().lines(after: 18) == nil && manifest.lines(after: 99) == nil)
  }

  @Test("Who follows gets each line once, also beyond what is kept in memory")
  func followed() throws {
    let manifest = try journal.open()
    #expect(try manifest.lines(after: 0) == nil)
    try manifest.append([fact(1)])
    #expect(try manifest.lines(after: 0)?.last == 1)
    #expect(try manifest.lines(after: 1) == nil)
    // The same again, as when it could not be kept.
    #expect(try manifest.lines(after: 0)?.last == 1)
    let long = Annotation(.caption, String(repeating: "long ", count: 2000))
    let count = Manifest.segmentSize / 10_000 + 10
    for number in 0..<count {
      try manifest.append([.annotated(asset: Journal.id(number), long)])
    }
    let pieces = try pieces(of: manifest)
    #expect(try pieces.count > 1 && pieces.flatMap(\.bytes) == file(journal))
  }

  @Test("Lines that a failed append has left in the files are read from there")
  func failed() {
    var recent = RecentLines()
    func lines(_ number: Int64) -> ManifestLines {
      ManifestLines(first: number, last: number, bytes: [UInt8(number)])
    }
    recent.append(lines(1))
    #expect(recent.take(after: 0) == nil)
    recent.append(lines(1))
    recent.append(lines(2))
    #expect(recent.take(after: 0) == ManifestLines(first: 1, last: 2, bytes: [1, 2]))
    recent.append(lines(4))
    #expect(recent.take(after: 0) == nil && recent.take(after: 2) == nil)
    #expect(recent.take(after: 3) == lines(4))
  }

  @Test("A journal takes the lines of another one as they are, and leaves out what it has")
  func taken() throws {
    let manifest = try journal.open(segmentSize: 300)
    try manifest.append(Journal.everyKind)
    try manifest.append([fact(1), fact(2)], asTransaction: true)
    let copy = try other.open()
    for lines in try pieces(of: manifest) { try copy.append(lines) }
    #expect(try file(other) == file(journal))
    #expect(copy.lastMark == manifest.lastMark)
    // Again, and with some that it has.
    for lines in try pieces(of: manifest) { try copy.append(lines) }
    try manifest.append([fact(3)])
    for lines in try pieces(of: journal.open(), after: 4) { try other.open().append(lines) }
    #expect(try file(other) == file(journal))
    try other.open().append([fact(4)])
    #expect(try other.facts() == journal.facts() + [fact(4)])
  }

  @Test("The last fact in some bytes of a segment is found, unless they end within a line")
  func upTo() throws {
    let manifest = try journal.open()
    try manifest.append([fact(1)])
    let size = try journal.bytes(of: 1).count
    try manifest.append([fact(2), fact(3)])
    let segment = try #require(try manifest.segments().segments.first)
    #expect(try manifest.lastFact(in: segment, upTo: size) == 1)
    #expect(try manifest.lastFact(in: segment, upTo: size + 1) == nil)
    #expect(try manifest.lastFact(in: segment, upTo: segment.bytes) == 3)
    #expect(try manifest.lastFact(in: segment, upTo: 0) == nil)
  }

  @Test(
    "Lines that are damaged, don't follow, or are of another history are refused, and nothing is written"
  )
  func refused() throws {
    let manifest = try journal.open()
    for number in 0..<4 { try manifest.append([fact(number)]) }
    let bytes = try file(journal)
    var lines = try #require(try manifest.lines(after: 0))
    let copy = try other.open()
    func refuses(_ lines: ManifestLines, _ reason: String) throws {
      let before = try file(other)
      let error = #expect(throws: ManifestError.self) { try copy.append(lines) }
      #expect(
        error?.code == .damaged && error?.message.contains(reason) == true,
        "\(error?.message ?? "")")
      #expect(try file(other) == before)
    }
    lines.bytes[bytes.count - 30] ^= 1
    try refuses(lines, "is damaged")
    try refuses(try #require(try manifest.lines(after: 1)), "Facts 1 to 1 are missing")
    try copy.append([fact(0)], at: Timestamp(microseconds: 1))
    lines.bytes = bytes
    try refuses(lines, "not those of the manifest")
  }
}
