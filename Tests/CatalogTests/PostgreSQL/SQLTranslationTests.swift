import Records
import Testing

@testable import Catalog

@Suite("Statements for PostgreSQL", .timeLimit(.minutes(1)))
struct SQLTranslationTests {
  @Test(
    "What SQLite writes otherwise is translated",
    arguments: [
      ("SELECT a FROM t WHERE b = ? AND c = ?", "SELECT a FROM t WHERE b = $1 AND c = $2"),
      ("SELECT ?2, ?1", "SELECT $2 , $1"), ("SELECT ?1, ?, ?1", "SELECT $1 , $2 , $1"),
      ("SELECT x'' , x'0aFF'", "SELECT '\\x'::bytea , '\\x0aFF'::bytea"),
      ("SELECT 'it''s x''?'", "SELECT 'it''s x''?'"),
      (
        "SELECT 1 FROM a CROSS JOIN b AS c INDEXED BY i ON c.x = a.x",
        "SELECT 1 FROM a JOIN b AS c ON c . x = a . x"
      ),
      (
        "SELECT 1 FROM a CROSS JOIN temp.b ON b.x = 1",
        "SELECT 1 FROM a JOIN pg_temp . b ON b . x = 1"
      ),
      ("SELECT 1 FROM a CROSS JOIN b", "SELECT 1 FROM a CROSS JOIN b"),
      (
        "SELECT 1 FROM a CROSS JOIN (SELECT (1) AS x) AS b ON b.x = a.x",
        "SELECT 1 FROM a JOIN ( SELECT ( 1 ) AS x ) AS b ON b . x = a . x"
      ),
      ("UPDATE t INDEXED BY i SET a = 1", "UPDATE t SET a = 1"),
      ("SELECT a IS b, a IS NOT ?", "SELECT a IS NOT DISTINCT FROM b , a IS DISTINCT FROM $1"),
      (
        "SELECT a IS NULL, a IS NOT NULL, (a) IS NOT TRUE",
        "SELECT a IS NULL , a IS NOT NULL , ( a ) IS NOT TRUE"
      ),
      ("SELECT iif(a, b, max(c, 0))", "SELECT CASE WHEN a THEN b ELSE greatest(c, 0) END"),
      ("SELECT max(a), min(b, (c))", "SELECT max(a) , least(b, ( c ))"),
      ("SELECT ifnull(instr(a, ?), 0) > 0", "SELECT coalesce ( strpos ( a , $1 ) , 0 ) > 0"),
      (
        "SELECT group_concat(a), group_concat(a, '|')",
        "SELECT string_agg(a, ',') , string_agg(a, '|')"
      ),
      ("SELECT a GLOB ? AND b", "SELECT a LIKE pipeline_like( $1 ) AND b"),
      (
        "UPDATE stage SET active = 0 WHERE active = 1",
        "UPDATE stage SET active = FALSE WHERE active = TRUE"
      ),
      ("SELECT applies = ?, active FROM t", "SELECT applies = $1 , active FROM t"),
      ("SELECT * FROM (SELECT 1)", "SELECT * FROM ( SELECT 1 ) AS selection_1"),
      (
        "SELECT * FROM (SELECT 1 UNION ALL SELECT 2) ORDER BY 1",
        "SELECT * FROM ( SELECT 1 UNION ALL SELECT 2 ) AS selection_1 ORDER BY 1"
      ),
      ("SELECT CAST(a AS INTEGER), CAST(b AS TEXT)", "SELECT CAST(a AS bigint) , pipeline_text(b)"),
      (
        "SELECT 1 FROM asset AS user WHERE user.id = 1",
        "SELECT 1 FROM asset AS \"user\" WHERE \"user\" . id = 1"
      ),
      ("SELECT json_group_array(json_array(a))", "SELECT json_agg ( json_build_array ( a ) )"),
      ("SELECT a ->> 'b' || 'c'", "SELECT a ->> 'b' || 'c'"),
    ])
  func translated(sqlite: String, postgreSQL: String) throws {
    #expect(try SQLTranslation.postgreSQL(sqlite) == postgreSQL)
  }

  @Test(
    "What no statement of the catalog has is refused",
    arguments: [
      "SELECT \"a\"", "SELECT 'open", "SELECT @a", "SELECT a -- b'", "SELECT `a`", "SELECT x'0",
    ])
  func refused(sql: String) {
    // A comment without its apostrophe would be arithmetic; nothing has one.
    #expect(throws: CatalogError.self) { _ = try SQLTranslation.postgreSQL(sql) }
  }
}
