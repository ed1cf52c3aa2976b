import CSQLite
import PipelineModel
import Records
import Testing

@testable import Catalog

/// The index of a log that another process is changing, or did not finish.
@Suite("Half-written index")
struct HalfWrittenIndexTests {
  private func error(_ code: Int32) -> CatalogError {
    CatalogError(
      sqlite: code, systemError: 0, detail: "attempt to write a readonly database",
      path: "catalog.sqlite", of: .catalog, sql: nil)
  }

  @Test("It is looked at again until it is whole, or another error comes")
  func again() {
    var codes = [HalfWrittenIndex.code, HalfWrittenIndex.code, SQLITE_ROW, SQLITE_DONE]
    var resets = 0
    #expect(HalfWrittenIndex.passing({ codes.removeFirst() }, again: { resets += 1 }) == SQLITE_ROW)
    #expect(codes == [SQLITE_DONE] && resets == 2)
    codes = [HalfWrittenIndex.code, SQLITE_IOERR]
    #expect(HalfWrittenIndex.passing { codes.removeFirst() } == SQLITE_IOERR)
  }

  @Test("What a killed program left is told apart from what can't be written")
  func message() {
    let killed = error(HalfWrittenIndex.code)
    #expect(killed.code == .readOnly && killed.message.contains("was killed"))
    #expect(killed.message.contains("pipeline status"))
    let readOnly = error(SQLITE_READONLY)
    #expect(readOnly.code == .readOnly && readOnly.message.contains("Check who may write"))
  }
}
