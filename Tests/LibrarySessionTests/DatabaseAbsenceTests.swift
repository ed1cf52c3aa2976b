import Engine
import LibraryControl
import Records
import Testing

@testable import LibrarySession

@Suite("The absence of a database")
struct DatabaseAbsenceTests {
  private static func error(_ code: CatalogError.Code, mayPass: Bool = false) -> CatalogError {
    var error = CatalogError(code, "\(code)")
    error.mayPass = mayPass
    return error
  }

  @Test("Each pause is twice as long as the one before, up to half a minute")
  func pauses() {
    var absence = DatabaseAbsence()
    let pauses = (0..<8).map { _ in absence.nextPause() }
    #expect(pauses == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    // One that follows at once goes on with them; one after a while begins with the first.
    absence.end(ofSessionSince: .now)
    #expect(absence.nextPause() == .seconds(30))
    absence.end(ofSessionSince: .now - .seconds(61))
    #expect(absence.nextPause() == .seconds(1))
  }

  @Test("It is told once, and again for another cause, or another reason of a server's refusal")
  func news() {
    var absence = DatabaseAbsence()
    let away = Self.error(.unreachable)
    var (password, database) = (away, away)
    (password.isRefusal, database.isRefusal) = (true, true)
    (password.message, database.message) = ("wrong password", "no database")
    var (unfinished, more) = (
      Self.error(.corrupt, mayPass: true), Self.error(.corrupt, mayPass: true)
    )
    (unfinished.message, more.message) = ("lacks 3 of 9", "lacks 2 of 9")
    let all = [away, away, password, password, database, away, unfinished, more]
    let told = all.map { error in
      defer { _ = absence.nextPause() }
      return absence.isNews(error)
    }
    #expect(told == [true, false, true, false, true, false, true, false])
  }

  @Test("A catalog that another process has changed has its exit code, whoever finds that")
  func exitCode() {
    let overtaken = Self.error(.locked)
    #expect(Failure(overtaken).kind == .locked)
    #expect(Failure(EngineError(.ledger, "", cause: overtaken)).kind == .locked)
    #expect(Failure(EngineError(.ledger, "", cause: Self.error(.database))).kind == .fatal)
  }

  @Test("What may pass is waited for by who could change the database before")
  func passing() {
    for (error, begins, goesOn) in [
      (Self.error(.unreachable), true, true), (Self.error(.readOnly, mayPass: true), false, true),
      (Self.error(.readOnly), false, false), (Self.error(.database), false, false),
    ] {
      for wrapped in [error, EngineError(.ledger, "", cause: error)] as [any Error] {
        #expect(DatabaseAbsence.isAway(wrapped, hasBegun: false) == begins)
        #expect(DatabaseAbsence.isAway(wrapped, hasBegun: true) == goesOn)
      }
    }
  }
}
