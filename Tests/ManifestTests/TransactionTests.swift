import Files
import Fixtures
import PipelineModel
import Testing

@testable import Manifest

/// Facts that count only together.
@Suite("Transactions of the journal", .timeLimit(.minutes(2)))
struct TransactionTests {
  let journal: Journal

  init() throws { journal = try Journal() }

  private static let facts: [ManifestFact] = (1...5).map { .trashed(asset: Journal.id($0)) }

  @Test("A cut at any byte leaves none or all of a transaction, and the journal goes on")
  func cut() throws {
    try journal.open().append([.trashed(asset: Journal.id(100))])
    let start = try journal.bytes(of: 1).count
    try journal.open().append(Self.facts, asTransaction: true)
    let whole = try journal.bytes(of: 1)
    let first = [ManifestFact.trashed(asset: Journal.id(100))]
    // The last byte is the newline, without which the last line is torn.
    for length in start...whole.count {
      for segment in try journal.segments() where segment > 1 { try journal.remove(segment) }
      try journal.write(Array(whole[..<length]), to: 1)
      let expected = first + (length == whole.count ? Self.facts : [])
      #expect(try journal.facts() == expected, "\(length) of \(whole.count)")
      let next: [ManifestFact] = [
        .restored(asset: Journal.id(1)), .restored(asset: Journal.id(2)),
      ]
      let last = try journal.open().append(next, asTransaction: true)
      #expect(try journal.facts() == expected + next, "\(length) of \(whole.count)")
      #expect(try journal.facts(after: last - 1) == [next[1]])
    }
  }

  @Test("A reader knows where a transaction ends, so that it is not applied in parts")
  func ends() throws {
    try journal.open().append([.trashed(asset: Journal.id(100))])
    try journal.open().append(Self.facts, asTransaction: true)
    try journal.open().append([.trashed(asset: Journal.id(101))])
    var cursor = try journal.open().entries(after: 0)
    var isInside: [Bool] = []
    while try cursor.next() != nil { isInside.append(cursor.isInTransaction) }
    #expect(isInside == [false, true, true, true, true, false, false])
  }

  @Test("A transaction that follows an interrupted one and ends at the same number counts")
  func sameEnd() throws {
    try journal.open().append(Self.facts, asTransaction: true)
    let lines = try journal.lines(of: 1)
    try journal.write(lines[..<3].flatMap { $0 + [UInt8(ascii: "\n")] }, to: 1)
    let next: [ManifestFact] = [.restored(asset: Journal.id(1)), .restored(asset: Journal.id(2))]
    #expect(try journal.open().append(next, asTransaction: true) == 5)
    #expect(try journal.segments() == [1])
    #expect(try journal.facts() == next)
  }

  @Test("A fact that does not count has its mark, as one that was the last when it was read")
  func mark() throws {
    try journal.open().append(Self.facts, asTransaction: true)
    let lines = try journal.lines(of: 1)
    try journal.write(lines[..<3].flatMap { $0 + [UInt8(ascii: "\n")] }, to: 1)
    let manifest = try journal.open()
    let mark = try #require(manifest.lastMark)
    #expect(mark.sequence == 3)
    try manifest.append([.restored(asset: Journal.id(1))])
    #expect(try manifest.mark(at: 3) == mark)
    #expect(try journal.facts() == [.restored(asset: Journal.id(1))])
  }

  @Test("A power loss that takes a page out of the middle takes the transaction")
  func hole() throws {
    let facts: [ManifestFact] = (1...40).map { .trashed(asset: Journal.id($0)) }
    try journal.open().append(facts, asTransaction: true)
    let whole = try journal.bytes(of: 1)
    for sector in 0..<(whole.count / ManifestHole.sector) {
      var bytes = whole
      let range = sector * ManifestHole.sector..<(sector + 1) * ManifestHole.sector
      bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
      try journal.write(bytes, to: 1)
      #expect(try journal.facts() == [], "sector \(sector)")
    }
  }

  @Test("Facts that are no transaction count one by one")
  func batch() throws {
    try journal.open().append(Self.facts)
    let lines = try journal.lines(of: 1)
    try journal.write(lines[..<3].flatMap { $0 + [UInt8(ascii: "\n")] }, to: 1)
    #expect(try journal.facts() == Array(Self.facts[..<3]))
  }
}
