// Asks five questions by `PipelineLibrary` and by SQL written by hand, in turn, and prints the processor
// time of each as JSON: {"question": …, "assets": …, "library": seconds, "byHand": seconds}.
//
// usage: fetch-probe LIBRARY ROUNDS
//   LIBRARY  made by Benchmarks/synthetic-catalog

import Foundation
import PipelineLibrary

struct Question {
  var name: String
  var fetch: Fetch
  var sql: String
  /// How often it is asked in a round, so that a round takes some time.
  var times: Int
}

/// Seconds of processor that this process has used.
func processorTime() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return [usage.ru_utime, usage.ru_stime].reduce(0) {
    $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
  }
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

let arguments = CommandLine.arguments
guard arguments.count == 3, let rounds = Int(arguments[2]), rounds > 0 else {
  FileHandle.standardError.write(Data("usage: fetch-probe LIBRARY ROUNDS\n".utf8))
  exit(2)
}
/// Asks all of it, beside the main actor: as a server would.
@concurrent func ask() async throws {
  let library = try await Library.open(at: arguments[1])
  let byHand = try SQLByHand("\(arguments[1])/catalog.sqlite")
  let newest = SortDescriptor(\Asset.taken, order: .reverse)
  let half = try await library.count(Fetch()) / 2
  let middle = try await library.keys(Fetch().sorted(by: newest).offset(half).limited(to: 1))
  guard let start = middle.first else { throw CocoaError(.fileReadUnknown) }
  let key = "x'\(start.description.replacing("-", with: ""))'"
  let order = "ORDER BY picture.taken DESC, picture.asset"
  func term(_ text: String) -> String { "(SELECT id FROM term WHERE text = '\(text)')" }
  let questions = [
    Question(
      name: "the newest 50", fetch: try Fetch().sorted(by: newest).limited(to: 50),
      sql: "WHERE picture.taken IS NOT NULL \(order) LIMIT 50", times: 100),
    Question(
      name: "50 after half of them",
      fetch: try Fetch().sorted(by: newest).after(start).limited(to: 50),
      sql: """
        WHERE picture.taken <= (SELECT taken FROM picture WHERE asset = \(key))
          AND (picture.taken < (SELECT taken FROM picture WHERE asset = \(key))
            OR picture.asset > \(key))
        \(order) LIMIT 50
        """, times: 100),
    Question(
      name: "50 of a camera and a month",
      fetch: try Fetch(query: "camera=\"Maker 1 Model 1\" taken:2012-05").sorted(by: newest)
        .limited(to: 50),
      sql: """
        WHERE picture.camera = \(term("Maker 1 Model 1")) AND picture.taken >= 1335830400000000
          AND picture.taken < 1338508800000000 \(order) LIMIT 50
        """, times: 100),
    Question(
      name: "50 with one tag and not another",
      fetch: try Fetch(query: "tag=\"tag 500\" -tag=\"tag 3\"").sorted(by: newest).limited(to: 50),
      sql: """
        WHERE picture.number IN (SELECT picture FROM keyword WHERE term = \(term("tag 500")))
          AND picture.number NOT IN (SELECT picture FROM keyword WHERE term = \(term("tag 3")))
        \(order) LIMIT 50
        """, times: 1),
    Question(
      name: "10,000 in the order of import", fetch: Fetch().limited(to: 10_000),
      sql: "ORDER BY picture.asset LIMIT 10000", times: 1),
  ]
  for question in questions {
    var (fetched, written): ([Double], [Double]) = ([], [])
    var count = 0
    // The first round fills the caches.
    for round in 0...rounds {
      var (assets, records): ([Asset], [SQLByHand.Record]) = ([], [])
      let start = processorTime()
      for _ in 0..<question.times { assets = try await library.fetch(question.fetch) }
      let middle = processorTime()
      for _ in 0..<question.times { records = try byHand.records(question.sql) }
      let end = processorTime()
      guard assets.map(\.id.bytes) == records.map(\.id) else {
        throw CocoaError(.featureUnsupported, userInfo: ["differ": question.name])
      }
      count = assets.count
      if round == 0 { continue }
      fetched.append((middle - start) / Double(question.times))
      written.append((end - middle) / Double(question.times))
    }
    let line: [String: Any] = [
      "question": question.name, "assets": count, "library": median(fetched),
      "byHand": median(written),
    ]
    let data = try JSONSerialization.data(withJSONObject: line, options: [.sortedKeys])
    print(String(decoding: data, as: UTF8.self))
  }
}

do {
  try await ask()
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
