import Fixtures
import PipelineModel
import Records
import Testing

@testable import Catalog

/// What PostgreSQL does for a few jobs of many.
@Suite(
  "Plans of PostgreSQL", .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct StatementPlanTests: ParticipantSuite {
  /// Claims and completes a batch of each stage.
  private func work(_ catalog: Catalog) throws {
    for stage in ["identify", "thumbnails"] {
      let jobs = try catalog.claim(stage: stage, limit: 64, suspects: false)
      #expect(jobs.count == 64)
      let renditions = [Samples.rendition("grid")]
      _ = try catalog.complete(
        jobs.map {
          Completion(
            token: $0.token, outcome: .done(facts: ["width": 1], renditions: renditions), seconds: 1
          )
        })
    }
  }

  /// The statements that a process has prepared, and their plans.
  private func plans(of catalog: Catalog) throws -> [(sql: String, plan: String)] {
    try catalog.read { (connection) throws(CatalogError) in
      let statements = try connection.all(
        "SELECT name, cardinality(parameter_types), statement FROM pg_prepared_statements"
      ) { (name: $0.text(0), parameters: $0.int(1), sql: $0.text(2)) }
      var plans: [(sql: String, plan: String)] = []
      for statement in statements where !statement.sql.hasPrefix("EXPLAIN") {
        let nulls = Array(repeating: "NULL", count: statement.parameters).joined(separator: ", ")
        let call = "EXPLAIN EXECUTE \(statement.name)" + (nulls.isEmpty ? "" : " (\(nulls))")
        let lines = try connection.all(call) { $0.text(0) }
        plans.append((statement.sql, lines.joined(separator: "\n")))
      }
      return plans
    }
  }

  @Test("What claims and completes jobs keeps no whole table in memory")
  func memory() throws {
    let library = try makeLibrary(assets: 1...300)
    let other = try openBeside(library)
    try work(other)
    let plans = try plans(of: other)
    #expect(plans.count > 20)
    for (sql, plan) in plans { #expect(!plan.contains("hashed SubPlan"), "\(sql)\n\(plan)") }
    try other.close()
    try library.close()
  }

  @Test("A claim reads the rows of its jobs alone, also once the server has counted all rows again")
  func countedAgain() throws {
    let library = try makeLibrary(assets: 1...300)
    let other = try openBeside(library)
    try work(other)
    try execute("ANALYZE pipeline.ledger", library)
    // Its statements are planned anew while it has claimed some.
    try work(other)
    var looks = 0
    for (sql, plan) in try plans(of: other) where sql.contains("claimed") {
      let lines = plan.split(separator: "\n")
      for (line, next) in zip(lines, lines.dropFirst() + [""]) where line.contains(" on ledger ") {
        if line.contains("Update on") { continue }
        looks += 1
        #expect(line.contains("Index") && next.contains("Index Cond"), "\(sql)\n\(plan)")
      }
    }
    #expect(looks >= 4)
    try other.close()
    try library.close()
  }

  @Test("A claim that finds no job leaves no trace")
  func emptyClaim() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    try complete(other.claim(stage: "identify", limit: 64, suspects: false), other)
    let id = try number(of: other)
    func mark() throws -> String? {
      try other.read { (connection) throws(CatalogError) in
        try connection.first(
          "SELECT mark FROM participant WHERE id = ?", id
        ) { $0.text(0) }
      }
    }
    let before = try mark()
    #expect(try other.claim(stage: "identify", limit: 64, suspects: false).isEmpty)
    #expect(try mark() == before)
    #expect(try other.claim(stage: "thumbnails", limit: 64, suspects: false).count == 3)
    #expect(try mark() != before)
    try other.close()
    try library.close()
  }
}
