import PipelineModel
import Testing

@testable import Sandbox

@Suite("The first line of a script", .timeLimit(.minutes(1)))
struct InterpreterTests {
  private func read(_ text: String) throws(SandboxError) -> [String] {
    let found = try Interpreter(line: Array(text.utf8), of: "script")
    return [found.program.description] + found.arguments.map(\.description)
  }

  @Test(
    "Names a program and what is between it and the script",
    arguments: [
      ("#!/bin/sh\n", ["/bin/sh"]), ("#! /bin/sh  \necho", ["/bin/sh"]),
      ("#!/bin/sh -e -u\n", ["/bin/sh", "-e -u"]), ("#!/bin/sh", ["/bin/sh"]),
      ("#!/usr/bin/env python3\n", ["python3"]), ("#!/bin/env -S a b\tc \n", ["a", "b", "c"]),
      ("#!/usr/bin/env /opt/x y\n", ["/opt/x", "y"]),
    ])
  func taken(_ line: String, _ words: [String]) throws {
    #expect(try read(line) == words)
  }

  @Test(
    "Is refused with a reason where it names none",
    arguments: [
      "", "text\n", "#!\n", "#!   \n", "#!/usr/bin/env\n", "#!/usr/bin/env -i sh\n",
      "#!/usr/bin/env A=1 sh\n", "#!/usr/bin/env -S \"a b\"\n",
      "#!" + String(repeating: "x", count: 300),
    ])
  func refused(_ line: String) {
    let error = #expect(throws: SandboxError.self) { try read(line) }
    #expect(error?.code == .program)
    #expect(error?.message.contains("“script”") == true)
  }
}
