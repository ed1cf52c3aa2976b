import PipelineModel
import Testing

@Suite("Locations of databases", .timeLimit(.minutes(1)))
struct DatabaseLocationTests {
  @Test(
    "URIs of libpq are locations",
    arguments: [
      "postgresql:///photos", "postgres://anna@db.example:5433/photos?sslmode=verify-full",
      "postgresql://a,b/photos?target_session_attrs=read-write", "postgresql:///?service=photos",
      "postgresql://db:5433/photos?application_name=a%40b", "postgresql:///photos?options=a:b@c",
      "postgresql://anna@/photos?host=%2Frun%2Fpostgresql",
    ])
  func valid(text: String) throws {
    #expect(DatabaseLocation.isMeant(by: text))
    #expect(try DatabaseLocation(text).uri == text)
  }

  @Test(
    "A password is refused wherever it is, and so is what is no URI",
    arguments: [
      ("postgresql://anna:secret@db/photos", "password"),
      ("postgresql://anna:@db/photos", "password"),
      ("postgresql://anna:secret/x@db/photos", "password"),
      ("postgresql://anna:secret?x@db/photos", "password"),
      ("postgresql:///photos?user=anna&password=secret", "password"),
      ("postgresql:///photos?p%61ssword=secret", "password"),
      ("postgresql:///photos?sslpassword=secret", "password"),
      ("postgresql:///my photos", "no URI"), ("postgresql:///ph\u{f6}tos", "no URI"),
      ("mysql:///photos", "postgresql://"), ("photos", "postgresql://"),
    ])
  func invalid(text: String, part: String) throws {
    let fault = try #require(throws: LocationFault.self) { _ = try DatabaseLocation(text) }
    #expect(fault.reason.contains(part) && !fault.reason.contains("secret"))
  }
}
