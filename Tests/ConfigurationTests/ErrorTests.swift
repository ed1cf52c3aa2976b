import PipelineModel
import Testing

@testable import Configuration

/// Every way to get a configuration wrong: its code, its pointer, and the words that help.
@Suite(.timeLimit(.minutes(1))) struct ErrorTests {
  private func expect(
    _ text: String, _ code: ConfigurationError.Code, _ pointer: String?, _ words: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let error = try error(text, sourceLocation: sourceLocation)
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    #expect(error.pointer == pointer, "\(error)", sourceLocation: sourceLocation)
    #expect(error.file == file, sourceLocation: sourceLocation)
    #expect(error.line != nil && error.column != nil, sourceLocation: sourceLocation)
    for word in words {
      #expect(error.message.contains(word), "\(error.message)", sourceLocation: sourceLocation)
    }
  }

  @Test("An unknown key names the nearest known one, at each place that has keys")
  func unknownKey() throws {
    try expect(
      #"{"library": "l", "colour": 1}"#, .unknownKey, "/colour", "“colour”", "known keys are")
    try expect(
      #"{"library": "l", "source": []}"#, .unknownKey, "/source", "did you mean “sources”?")
    try expect(
      withSource(#""recursiv": true"#), .unknownKey, "/sources/0/recursiv",
      "did you mean “recursive”?")
    try expect(
      withStage(#""Timeout": "1s""#), .unknownKey, "/stages/0/Timeout", "did you mean “timeout”?")
    try expect(
      withStage(#""limits": {"pixel": 1}"#), .unknownKey, "/stages/0/limits/pixel",
      "did you mean “pixels”?")
    try expect(
      withStage(#""allow": {"a/b~c": 1}"#), .unknownKey, "/stages/0/allow/a~1b~0c", "“a/b~c”",
      "known keys are “exec”, “network”, “read”, “write”")
  }

  @Test("A rule for groups that makes no sense is named")
  func groups() throws {
    func rules(_ text: String) -> String { #"{"library": "l", "groups": [\#(text)]}"# }
    try expect(rules("{}"), .missingKey, "/groups/0", "“kind”")
    try expect(rules(#"{"kind": "panorama"}"#), .badValue, "/groups/0/kind", "panorama")
    try expect(
      rules(#"{"kind": "sidecar", "within": "soon"}"#), .badDuration, "/groups/0/within")
    try expect(
      rules(#"{"kind": "sidecar", "gap": "1s"}"#), .unknownKey, "/groups/0/gap", "“gap”")
    try expect(
      rules(#"{"kind": "sidecar"}, {"kind": "livePhoto"}, {"kind": "sidecar"}"#), .conflict,
      "/groups/2/kind", "“sidecar”")
  }

  @Test("A missing key is named")
  func missingKey() throws {
    try expect("{}", .missingKey, "", "“library”")
    try expect(
      #"{"library": "l", "sources": [{}]}"#, .missingKey, "/sources/0", "“path”")
    try expect(
      #"{"library": "l", "stages": [{"name": "a"}]}"#, .missingKey, "/stages/0", "“plugin”")
  }

  @Test("A wrong type says what was expected and what was found")
  func wrongType() throws {
    try expect("[]", .wrongType, "", "must be an object", "is a list")
    try expect(#"{"library": 1}"#, .wrongType, "/library", "must be a string", "a whole number: 1")
    try expect(#"{"library": null}"#, .wrongType, "/library", "is null")
    try expect(#"{"library": "l", "sources": {}}"#, .wrongType, "/sources", "must be a list")
    try expect(
      withSource(#""recursive": "yes""#), .wrongType, "/sources/0/recursive",
      "must be true or false", "a string: “yes”")
    try expect(withSource(#""include": "**""#), .wrongType, "/sources/0/include", "a list")
    try expect(withSource(#""exclude": [1]"#), .wrongType, "/sources/0/exclude/0", "exclude[0]")
    try expect(
      withStage(#""attempts": 1.5"#), .wrongType, "/stages/0/attempts", "a whole number", "1.5")
    try expect(withStage(#""options": []"#), .wrongType, "/stages/0/options", "an object")
    try expect(
      withStage(#""command": true"#), .wrongType, "/stages/0/command", "a string or a list")
    try expect(withStage(#""timeout": 60"#), .wrongType, "/stages/0/timeout", "a string")
  }

  @Test("A share is a number from 0 to 1")
  func badShare() throws {
    for number in ["-0.1", "1.01", "50"] {
      try expect(
        withSource(#""maxMissing": \#(number)"#), .badValue, "/sources/0/maxMissing", "allowed is")
    }
    try expect(withSource(#""maxMissing": "50%""#), .wrongType, "/sources/0/maxMissing", "number")
  }

  @Test("A word that is not allowed names those that are")
  func badChoice() throws {
    try expect(
      withSource(#""mode": "mvoe""#), .badValue, "/sources/0/mode", "“mvoe”",
      "“move” or “copy”", "did you mean “move”?")
    for key in ["complete", "duplicates", "take", "emptyFolders"] {
      try expect(
        withSource(#""\#(key)": "x""#), .badValue, "/sources/0/\(key)", "“x”", "allowed: ")
    }
    for key in ["isolation", "storage"] {
      try expect(withStage(#""\#(key)": "x""#), .badValue, "/stages/0/\(key)", "“x”", "allowed: ")
    }
  }

  @Test(
    "A text that is no duration is refused",
    arguments: ["2", "2 s", "s", "", "-1s", "+1s", "1.5s", "2S", "PT2S", "2s\\n"])
  func badDuration(text: String) throws {
    try expect(withSource(#""settle": "\#(text)""#), .badDuration, "/sources/0/settle", "2s")
  }

  @Test("A duration of zero is refused where it is senseless, and one too long for a number")
  func senselessDuration() throws {
    try expect(#"{"library": "l", "rescan": "0s"}"#, .badDuration, "/rescan", "above zero")
    try expect(withStage(#""timeout": "00ms""#), .badDuration, "/stages/0/timeout", "above zero")
    try expect(
      withStage(#""limits": {"cpu": "999999999999d"}"#), .badDuration, "/stages/0/limits/cpu",
      "too long")
    #expect(try decode(withSource(#""settle": "0s""#)).sources[0].settle.milliseconds == 0)
  }

  @Test(
    "A text that is no size is refused", arguments: ["1 GiB", "GiB", "", "-1", "1GB", "1.5GiB"])
  func badSize(text: String) throws {
    try expect(#"{"library": "l", "reserve": "\#(text)"}"#, .badSize, "/reserve", "64KiB")
  }

  @Test("A size of zero is refused where it is senseless, and one too large for a number")
  func senselessSize() throws {
    try expect(#"{"library": "l", "memoryBudget": "0"}"#, .badSize, "/memoryBudget", "above zero")
    try expect(
      withStage(#""memory": "999999999TiB""#), .badSize, "/stages/0/memory", "too large")
  }

  @Test("Numbers below one and above what makes sense are refused")
  func badNumber() throws {
    try expect(withStage(#""attempts": 0"#), .badValue, "/stages/0/attempts", "is 0", "is 1")
    try expect(withStage(#""concurrency": -2"#), .badValue, "/stages/0/concurrency", "-2")
    try expect(withStage(#""concurrency": 2000"#), .badValue, "/stages/0/concurrency", "1024")
    try expect(
      withStage(#""concurrency": "cpu""#), .badValue, "/stages/0/concurrency", "“cpu”", "“cpus”")
    for key in ["files", "processes", "pixels", "frames"] {
      try expect(
        withStage(#""limits": {"\#(key)": 0}"#), .badValue, "/stages/0/limits/\(key)", "is 0")
    }
    try expect(
      withStage(#""limits": {"pixels": 1e19}"#), .badValue, "/stages/0/limits/pixels", "2⁶³")
  }

  @Test(
    "A stage's name can be a folder",
    arguments: ["", "Thumbs", "a b", "-a", "_a", "..", "a/b", "ä", "a\\n"])
  func stageName(name: String) throws {
    try expect(
      #"{"library": "l", "stages": [{"name": "\#(name)", "plugin": "p"}]}"#, .badValue,
      "/stages/0/name", "expected lowercase letters")
  }

  @Test("A stage's name is short enough for a folder")
  func longStageName() throws {
    let name = String(repeating: "a", count: 65)
    try expect(
      #"{"library": "l", "stages": [{"name": "\#(name)", "plugin": "p"}]}"#, .badValue,
      "/stages/0/name", "at most 64")
  }

  @Test("Two stages with one name are refused")
  func duplicateStage() throws {
    try expect(withStages([("a", []), ("a", [])]), .duplicateStage, "/stages/1/name", "“a”")
  }

  @Test("A need that names no stage is refused with the nearest name")
  func unknownStage() throws {
    try expect(
      withStages([("identify", []), ("b", ["identfy"])]), .unknownStage, "/stages/1/needs/0",
      "“identfy”", "did you mean “identify”?")
    try expect(
      withStages([("a", ["x"])]), .unknownStage, "/stages/0/needs/0", "there are no stages")
  }

  @Test("A need that is there twice is refused")
  func duplicateNeed() throws {
    try expect(
      withStages([("a", []), ("b", ["a", "a"])]), .badValue, "/stages/1/needs/1", "twice")
  }

  @Test("Stages that wait for each other are named in order")
  func cycle() throws {
    try expect(
      withStages([("a", ["c"]), ("b", ["a"]), ("c", ["b"]), ("d", ["a"])]), .cycle,
      "/stages/1/needs/0", "“a” → “c” → “b” → “a”")
    try expect(withStages([("a", ["a"])]), .cycle, "/stages/0/needs/0", "“a” → “a”")
  }

  @Test("An input is a stage and its rendition; an unknown stage, and a cycle, are refused")
  func input() throws {
    func configuration(_ input: String) -> String {
      #"{"library": "library", "stages": [{"name": "a", "plugin": "p", "needs": ["b"]}, "#
        + #"{"name": "b", "plugin": "p", "input": \#(input)}, {"name": "c", "plugin": "p"}]}"#
    }
    try expect(
      configuration(#""d/x""#), .unknownStage, "/stages/1/input", "There is no stage “d”")
    try expect(
      configuration(#"["c/x", "thumbs/x"]"#), .unknownStage, "/stages/1/input/1", "“thumbs”")
    try expect(
      configuration(#"["c/x", "a/x"]"#), .cycle, "/stages/1/input/1", "“a” → “b” → “a”")
    try expect(
      configuration(#""preview""#), .badValue, "/stages/1/input", "such as thumbnails/preview")
    try expect(configuration("[]"), .badValue, "/stages/1/input", "“input” must not be empty.")
    #expect(errors(configuration(#"["c/x", "c/y"]"#)).isEmpty)
  }

  @Test("Two cycles are both reported")
  func cycles() {
    let found = errors(withStages([("a", ["b"]), ("b", ["a"]), ("c", ["d"]), ("d", ["c"])]))
    #expect(found.map(\.code) == [.cycle, .cycle])
    #expect(found.map(\.pointer) == ["/stages/1/needs/0", "/stages/3/needs/0"])
  }

  @Test("Short and long forms of a limit must agree")
  func conflict() throws {
    try expect(
      withStage(#""timeout": "1s", "limits": {"time": "2s"}"#), .conflict, "/stages/0/timeout",
      "“limits.time”")
    try expect(
      withStage(#""memory": "1MiB", "limits": {"memory": "2MiB"}"#), .conflict, "/stages/0/memory",
      "“limits.memory”")
    let same = try decode(withStage(#""timeout": "60s", "limits": {"time": "1m"}"#))
    #expect(same.stages[0].limits.time?.seconds == 60)
  }

  @Test("A bad pattern is refused with the reason")
  func badGlob() throws {
    try expect(
      withSource(#""include": ["*.jpg", "[a-"]"#), .badGlob, "/sources/0/include/1", "“]”")
    try expect(withSource(#""exclude": ["a//b"]"#), .badGlob, "/sources/0/exclude/0", "empty comp")
    try expect(withSource(#""exclude": [""]"#), .badValue, "/sources/0/exclude/0", "is empty")
  }

  @Test("Empty paths, paths with NUL and those that a shell would expand are refused")
  func badPath() throws {
    try expect(#"{"library": "a\u0000b"}"#, .badPath, "/library", "NUL")
    try expect(#"{"library": "~/pictures"}"#, .badPath, "/library", "only a shell expands")
    try expect(withStage(#""command": ["~/bin/tool"]"#), .badPath, "/stages/0/command", "./~/")
    try expect(#"{"library": ""}"#, .badValue, "/library", "is empty")
    try expect(#"{"library": "l", "plugins": ["a\u0000"]}"#, .badPath, "/plugins/0", "NUL")
    try expect(withStage(#""command": ["a", "\u0000"]"#), .badPath, "/stages/0/command", "NUL")
    try expect(withStage(#""command": ["", "a"]"#), .badPath, "/stages/0/command", "empty string")
    try expect(withStage(#""command": []"#), .badValue, "/stages/0/command", "must not be empty")
  }

  @Test("Everything that is wrong is reported, in the order of the file")
  func all() {
    let found = errors(
      #"""
      {
        "library": 1,
        "sources": [{"mode": "x", "include": ["["]}, {"path": "a", "settle": "x"}],
        "stages": [{"name": "a", "plugin": "p", "needs": ["b"], "attempts": 0}],
        "wrong": true
      }
      """#)
    #expect(
      found.map(\.pointer) == [
        "/library", "/sources/0", "/sources/0/mode", "/sources/0/include/0", "/sources/1/settle",
        "/stages/0/needs/0", "/stages/0/attempts", "/wrong",
      ])
    #expect(found.map(\.line) == [2, 3, 3, 3, 3, 4, 4, 5])
    #expect(found[0].column == 14)
  }

  @Test("Errors are one line each, whatever is in the file")
  func printable() throws {
    let error = try error(#"{"library": "l", "a\nb\u001b[31m\u202e": 1}"#)
    #expect(
      !error.description.unicodeScalars.contains { $0.properties.generalCategory == .control })
    #expect(!error.description.unicodeScalars.contains("\u{202e}"))
    #expect(error.description.hasPrefix("/home/me/pictures/pipeline.json:1:"))
  }
}
