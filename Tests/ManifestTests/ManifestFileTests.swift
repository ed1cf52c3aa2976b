import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

@testable import Manifest

@Suite("The journal", .timeLimit(.minutes(2)))
struct ManifestFileTests {
  let journal: Journal

  init() throws { journal = try Journal() }

  @Test("A new journal is empty, and makes no file before the first fact")
  func empty() throws {
    let manifest = try journal.open()
    #expect(manifest.lastSequence == 0)
    #expect(try manifest.append([]) == 0)
    #expect(try journal.facts().isEmpty)
    #expect(try journal.segments().isEmpty)
  }

  @Test("Every kind of fact survives with its place and its time")
  func everyKind() throws {
    let facts = Journal.everyKind
    let start = Timestamp.now
    let manifest = try journal.open()
    #expect(try manifest.append(Array(facts[..<2])) == 2)
    #expect(try manifest.append(Array(facts[2...])) == Int64(facts.count))
    var entries: [ManifestEntry] = []
    var cursor = try journal.open().entries(after: 0)
    while let entry = try cursor.next() { entries.append(entry) }
    #expect(entries.map(\.fact) == facts)
    #expect(entries.map(\.sequence) == (1...Int64(facts.count)).map { $0 })
    #expect(entries.allSatisfy { $0.time >= start && $0.time <= .now })
    #expect(try journal.facts(after: 2) == Array(facts[2...]))
    #expect(try journal.facts(after: Int64(facts.count)).isEmpty)
  }

  @Test("What takes a property away needs no text")
  func withoutText() throws {
    let fact = ManifestFact.annotated(
      asset: Journal.id(7), Annotation(.title, "", applies: false))
    var line = ManifestLine(ManifestEntry(sequence: 1, time: .now, fact: fact))
    line.text = nil
    let bytes = line.encode().dropLast()
    #expect(!String(decoding: bytes, as: UTF8.self).contains("\"text\""))
    #expect(ManifestLine.decode(bytes)?.entry?.fact == fact)
  }

  @Test("Names that are not text, or would break a line, survive byte for byte")
  func rawNames() throws {
    let names: [BytePath] = [
      BytePath(bytes: [0xFF, 0xFE, 0x2F, 0x80]), "new\nline", "quote\"and\\slash", "-rf",
      BytePath(bytes: (1...255).map { UInt8($0) }), "%FF",
      BytePath(bytes: [UInt8](repeating: 0xE9, count: 4000)), "写真",
    ]
    let facts = names.enumerated().map { number, name in
      ManifestFact.intent(
        Journal.intent(number, path: name, source: BytePath("/s").appending(name)))
    }
    try journal.open().append(facts)
    #expect(try journal.facts() == facts)
    // A line is a line for `jq` and `grep`, whatever the name.
    #expect(try journal.lines(of: 1).count == facts.count)
  }

  @Test("A line is JSON with a checksum that sha256sum agrees with")
  func line() throws {
    try journal.open().append([Journal.everyKind[1]])
    let line = try #require(try journal.lines(of: 1).first)
    let json = try JSONText.decode(JSONValue.self, from: line)
    #expect(json["fact"] == "stored" && json["seq"] == 1)
    let text = String(decoding: line, as: UTF8.self)
    let body = try #require(text.range(of: ",\"check\":\""))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(text[..<body.lowerBound].utf8))
    try input.fileHandleForWriting.close()
    let digest = try #require(try output.fileHandleForReading.readToEnd())
    #expect(json["check"]?.string == String(decoding: digest.prefix(16), as: UTF8.self))
  }

  @Test("A last line that is cut at any byte is ignored, and the journal goes on behind it")
  func torn() throws {
    let facts = Journal.everyKind
    try journal.open().append(facts)
    let whole = try journal.bytes(of: 1)
    let lastStart = whole.dropLast().lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    // Cut right behind the newline, nothing is torn; right at its start, the line never was.
    for end in lastStart..<whole.count {
      let journal = try Journal()
      try journal.write(Array(whole[..<end]), to: 1)
      let manifest = try journal.open()
      #expect(manifest.lastSequence == Int64(facts.count - 1), "cut at \(end)")
      #expect(try journal.facts() == Array(facts.dropLast()), "cut at \(end)")
      #expect(try manifest.append([facts[0]]) == Int64(facts.count))
      // A tear is never written behind in its own segment.
      #expect(try journal.segments().count == (end == lastStart ? 1 : 2), "cut at \(end)")
      #expect(try journal.facts() == Array(facts.dropLast()) + [facts[0]], "cut at \(end)")
      #expect(try Array(journal.bytes(of: 1).prefix(end)) == Array(whole[..<end]))
    }
  }

  @Test("After a tear the journal can be opened and added to again and again")
  func tornTwice() throws {
    let facts = Journal.everyKind
    for round in 0..<5 {
      try journal.open().append([facts[round % facts.count]])
      let last = try #require(try journal.segments().last)
      try journal.write(try journal.bytes(of: last) + Array("{\"fact\":".utf8), to: last)
    }
    #expect(try journal.facts().count == 5)
    #expect(try journal.open().lastSequence == 5)
    #expect(try journal.segments().count == 5)
  }

  @Test("A segment with nothing but a torn line is passed over")
  func onlyTorn() throws {
    let facts = Journal.everyKind
    try journal.write(Array("{\"fact\":\"int".utf8), to: 1)
    let manifest = try journal.open()
    #expect(manifest.lastSequence == 0)
    try manifest.append(facts)
    #expect(try journal.facts() == facts)
    #expect(try journal.open().lastSequence == Int64(facts.count))
  }

  @Test("A batch of which a page in the middle never reached the disk was never written")
  func hole() throws {
    let before = Journal.everyKind
    try journal.open().append(before)
    let start = try journal.bytes(of: 1).count
    let batch = (0..<10).flatMap { _ in Journal.everyKind }
    try journal.open().append(batch)
    let whole = try journal.bytes(of: 1)
    let page = 4096
    try #require(whole.count > 3 * page)
    for first in start / page..<(whole.count - 1) / page {
      for count in 1...2 where (first + count) * page < whole.count {
        var torn = whole
        let hole = max(start, first * page)..<(first + count) * page
        torn.replaceSubrange(hole, with: repeatElement(0, count: hole.count))
        let journal = try Journal()
        try journal.write(torn, to: 1)
        let manifest = try journal.open()
        let kept = whole[..<hole.lowerBound].count { $0 == UInt8(ascii: "\n") }
        #expect(manifest.lastSequence == Int64(kept))
        #expect(try journal.facts() == Array((before + batch).prefix(kept)))
        // The journal goes on behind it, and can be read again.
        #expect(try manifest.append(before) == Int64(kept + before.count))
        #expect(try journal.facts() == (before + batch).prefix(kept) + before)
      }
    }
  }

  @Test("Zeros in a batch that was flushed are damage, as another one follows it")
  func holeInFlushedBatch() throws {
    let batch = (0..<10).flatMap { _ in Journal.everyKind }
    try journal.open().append(batch)
    try journal.open().append(Journal.everyKind)
    var bytes = try journal.bytes(of: 1)
    bytes.replaceSubrange(4096..<8192, with: repeatElement(0, count: 4096))
    try journal.write(bytes, to: 1)
    let error = try #require(throws: ManifestError.self) { try journal.facts() }
    #expect(error.code == .damaged)
  }

  @Test("One changed byte in any line but the last is refused, not passed over")
  func damaged() throws {
    let facts = Journal.everyKind
    try journal.open().append(facts)
    let whole = try journal.bytes(of: 1)
    let lastStart = try #require(whole.dropLast().lastIndex(of: UInt8(ascii: "\n")))
    for position in stride(from: 0, to: lastStart, by: 7) {
      var damaged = whole
      damaged[position] ^= 0x01
      let journal = try Journal()
      try journal.write(damaged, to: 1)
      let error = try #require(throws: ManifestError.self) { try journal.facts() }
      #expect(error.code == .damaged, "byte \(position)")
      #expect(error.path != nil && !error.message.isEmpty)
    }
  }

  @Test("A line that is missing anywhere is noticed")
  func missingLines() throws {
    try journal.open().append(Journal.everyKind)
    let lines = try journal.lines(of: 1)
    for missing in lines.indices.dropLast() {
      var rest = lines
      rest.remove(at: missing)
      let journal = try Journal()
      try journal.write(Array(rest.map { $0 + [UInt8(ascii: "\n")] }.joined()), to: 1)
      let error = try #require(throws: ManifestError.self) { try journal.facts() }
      #expect(error.code == .damaged, "without line \(missing + 1)")
    }
  }

  @Test("A missing segment is noticed, the first one as well", arguments: [1, 2])
  func missingSegment(number: Int) throws {
    for _ in 0..<3 { try journal.open(segmentSize: 1).append(Journal.everyKind) }
    #expect(try journal.segments() == [1, 2, 3])
    #expect(try journal.facts().count == 3 * Journal.everyKind.count)
    try journal.remove(number)
    let error = try #require(throws: ManifestError.self) { try journal.facts() }
    #expect(error.code == .damaged)
    // What comes behind the gap can still be had by itself.
    #expect(
      try journal.facts(after: Int64(2 * Journal.everyKind.count)).count
        == Journal.everyKind.count)
  }

  @Test("A full segment is followed by a new one, and replay crosses from one to the other")
  func segments() throws {
    let manifest = try journal.open(segmentSize: 2000)
    var facts: [ManifestFact] = []
    for number in 0..<40 {
      let fact = ManifestFact.intent(Journal.intent(number, path: BytePath("p\(number)")))
      facts.append(fact)
      try manifest.append([fact])
    }
    #expect(try journal.segments().count > 5)
    #expect(try journal.facts() == facts)
    for start in 0...40 {
      #expect(try journal.facts(after: Int64(start)) == Array(facts[start...]))
    }
    let again = try journal.open(segmentSize: 2000)
    #expect(again.lastSequence == 40)
    #expect(try again.append([facts[0]]) == 41)
  }

  @Test("A segment is read as far as it went when segments were asked for")
  func growing() throws {
    let manifest = try journal.open()
    try manifest.append([Journal.everyKind[0]])
    let (sequence, segments) = try manifest.segments()
    let before = try journal.bytes(of: 1)
    try manifest.append(Journal.everyKind)
    #expect(sequence == 1 && segments.map(\.bytes) == [before.count])
    #expect(try manifest.read(segments[0]) == before)
  }

  @Test("A journal that is closed in order goes on in its last segment")
  func reopened() throws {
    for fact in Journal.everyKind { try journal.open().append([fact]) }
    #expect(try journal.segments() == [1])
    #expect(try journal.facts() == Journal.everyKind)
  }

  @Test("Each member of a line is written, and no other")
  func members() throws {
    var intent = Journal.intent(1, path: BytePath(bytes: [0xFE]))
    intent.source = BytePath(bytes: [0x2F, 0xFF])
    intent.run = Journal.id(12)
    let facts = Journal.everyKind + [.intent(intent)]
    var members: Set<String> = []
    var written: Set<String> = []
    for fact in facts {
      var line = ManifestLine(ManifestEntry(sequence: 2, time: .now, fact: fact))
      line.batch = 1
      line.until = 2
      members.formUnion(Mirror(reflecting: line).children.compactMap(\.label))
      written.formUnion(
        try JSONText.decode(JSONValue.self, from: line.encode()).object?.keys.map { $0 } ?? [])
    }
    #expect(written == members.union(["check"]))
  }

  @Test("A fact of a later version is refused, saying which", arguments: [true, false])
  func newerFact(hasTaking: Bool) throws {
    try journal.open().append([Journal.everyKind[0]])
    var line = ManifestLine(
      ManifestEntry(sequence: 2, time: .now, fact: Journal.everyKind[3]))
    line.fact = "sung"
    // What all facts have today, one to come may lack.
    if !hasTaking { line.taking = nil }
    try journal.write(try journal.bytes(of: 1) + line.encode(), to: 1)
    let error = try #require(throws: ManifestError.self) { try journal.facts() }
    #expect(error.code == .newerVersion && error.message.contains("sung"))
    // Nothing is wrong with the journal itself.
    #expect(try journal.open().lastSequence == 2)
  }

  @Test("Files that are no segments are left alone")
  func foreignFiles() throws {
    try journal.open().append(Journal.everyKind)
    let folder = try Descriptor.openFolder(journal.folder)
    for name: BytePath in ["0002.jsonl.bak", "2.jsonl", "notes", "0000.jsonl", "x.jsonl"] {
      try folder.writeDurably(Array("nonsense\n".utf8), as: name)
    }
    #expect(try journal.facts() == Journal.everyKind)
    #expect(try journal.segments() == [1])
  }

  @Test("Facts appended on many threads get one place each")
  func concurrent() async throws {
    let manifest = try journal.open(segmentSize: 20_000)
    let places = try await withThrowingTaskGroup(of: [Int64].self) { group in
      for task in 0..<4 {
        group.addTask {
          try (0..<25).map {
            try manifest.append([.intent(Journal.intent(task * 100 + $0, path: "p"))])
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(places.sorted() == (1...100).map { $0 })
    #expect(try Set(journal.facts().map(\.taking)).count == 100)
  }

  @Test("Where the file system refuses, the error says so and no place is given away")
  func refused() throws {
    let manifest = try journal.open()
    let folder = try Descriptor.openFolder(journal.folder)
    // The name of the first segment is taken by something that is no file.
    try folder.makeFolder("0001.jsonl")
    let error = try #require(throws: ManifestError.self) {
      try manifest.append([Journal.everyKind[0]])
    }
    #expect(error.code == .file && error.cause?.code == .exists)
    #expect(manifest.lastSequence == 0)
    try folder.removeFolder("0001.jsonl")
    #expect(try manifest.append([Journal.everyKind[0]]) == 1)
    #expect(try journal.facts() == [Journal.everyKind[0]])
  }
}
