import PipelineModel
import Testing

@Suite("Paths as words of a shell", .timeLimit(.minutes(1)))
struct ShellWordTests {
  @Test(
    "Only what a shell would change is quoted",
    arguments: [
      ("/data/photos-1.0_a", "/data/photos-1.0_a"), ("/my photos", "'/my photos'"),
      ("it's", #"'it'\''s'"#), ("~x", "'~x'"), ("$HOME", "'$HOME'"), ("", "''"),
      ("a\nb", #"$'a\x0ab'"#), ("é", "'é'"),
    ])
  func quoting(_ path: String, _ word: String) {
    #expect(BytePath(path).shellWord == word)
  }

  @Test("Bytes that are not UTF-8 are escaped")
  func bytes() {
    #expect(BytePath(bytes: Array("/caf".utf8) + [0xE9, 0x27]).shellWord == #"$'/caf\xe9\x27'"#)
  }
}
