import Fixtures
import PipelineModel
import PostgreSQL
import Testing

/// Sizes that stay as they are when others are added, with a catalog in PostgreSQL.
@Suite(
  "Kept renditions in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct DatabaseKeptRenditionTests {
  private let workspace: Workspace
  private let connection: PostgreSQLConnection

  init() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    workspace = try Workspace(["catalog": .string(address.uri)])
    connection = try PostgreSQLConnection(address, applicationName: "tests")
    for number in 0..<2 {
      try workspace.put(
        try Pictures.jpeg(width: 200 + number, height: 150), as: BytePath("\(number).jpg"))
    }
    try workspace.json("run")
    try workspace.configure(
      stages: Workspace.stages(sizes: ["grid": 64, "preview": 128, "tiny": 16]),
      ["catalog": .string(address.uri)])
  }

  private func number(_ select: String) throws -> Int64 { try connection.first(select) }

  /// The last transaction that wrote bytes of the first four renditions.
  private func lastWriter() throws -> Int64 {
    try number(
      """
      SELECT max(xmin::text::bigint) FROM pipeline.rendition_bytes WHERE rendition IN
        (SELECT id FROM pipeline.rendition WHERE name IN ('grid', 'preview'))
      """)
  }

  @Test("A new size is made, and the bytes of the others are not written again")
  func unmoved() throws {
    let before = try lastWriter()
    try workspace.json("run")
    #expect(try number("SELECT count(*) FROM pipeline.rendition_bytes") == 6)
    #expect(try lastWriter() == before)
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A size whose bytes are gone, or not all there, is made again with the new one")
  func lost() throws {
    try connection.execute(
      """
      DELETE FROM pipeline.rendition_bytes WHERE rendition = (SELECT min(id) FROM pipeline.rendition);
      UPDATE pipeline.rendition_bytes SET content = 'cut'
        WHERE rendition = (SELECT max(id) FROM pipeline.rendition)
      """)
    try workspace.json("run")
    #expect(try number("SELECT count(*) FROM pipeline.rendition_bytes") == 6)
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }
}
