import PipelineModel
import Testing

@Suite("Addresses of databases", .timeLimit(.minutes(1)))
struct DatabaseAddressTests {
  @Test(
    "URIs of libpq are addresses",
    arguments: [
      "postgresql:///photos", "postgres://anna@db.example:5433/photos?sslmode=verify-full",
      "postgresql://a,b/photos?target_session_attrs=read-write", "postgresql:///?service=photos",
      "postgresql://anna@/photos?host=%2Frun%2Fpostgresql",
    ])
  func valid(text: String) throws {
    #expect(DatabaseAddress.isMeant(by: text))
    #expect(try DatabaseAddress(text).uri == text)
  }

  @Test(
    "A password is refused wherever it is, and so is what is no URI",
    arguments: [
      ("postgresql://anna:secret@db/photos", DatabaseAddress.Problem.password),
      ("postgresql://anna:@db/photos", .password),
      ("postgresql:///photos?user=anna&password=secret", .password),
      ("postgresql:///photos?p%61ssword=secret", .password),
      ("postgresql:///photos?sslpassword=secret", .password),
      ("postgresql:///my photos", .character), ("postgresql:///ph\u{f6}tos", .character),
      ("mysql:///photos", .scheme), ("photos", .scheme),
    ])
  func invalid(text: String, problem: DatabaseAddress.Problem) {
    #expect(throws: problem) { _ = try DatabaseAddress(text) }
  }
}
