import PipelineModel
import Testing

@testable import pipeline

/// How a command line is understood.
@Suite("Arguments", .timeLimit(.minutes(1)))
struct ArgumentsTests {
  private func parse(_ words: String...) throws -> Arguments {
    try Arguments(words.map { BytePath($0) }) { verb throws(UsageError) in
      verb == "run" ? RunVerb.options + Option.common : Option.common
    }
  }

  private func complaint(_ words: String...) -> String? {
    do {
      _ = try Arguments(words.map { BytePath($0) }) { _ in RunVerb.options + Option.common }
      return nil
    } catch {
      return error.message
    }
  }

  @Test("Options may stand before and after the verb, with their values in either form")
  func options() throws {
    let arguments = try parse("--config", "a.json", "run", "-nq", "--wait=5m", "operand")
    #expect(arguments.verb == "run" && arguments.operands == ["operand"])
    #expect(arguments.has(.dryRun) && arguments.has(.quiet) && !arguments.has(.verbose))
    #expect(arguments.path(.config) == "a.json" && arguments.value(.wait) == "5m")
  }

  @Test("After -- everything is an operand")
  func dashes() throws {
    let arguments = try parse("run", "--json", "--", "-n", "--odd")
    #expect(arguments.operands == ["-n", "--odd"])
    #expect(arguments.has(.json) && !arguments.has(.dryRun))
  }

  @Test("A complaint quotes what is wrong, and what may have been meant")
  func complaints() throws {
    #expect(complaint("run", "--jsno")?.contains("Did you mean --json?") == true)
    #expect(complaint("run", "--json=yes") == "--json takes no value.")
    #expect(complaint("run", "--wait") == "--wait needs a value: --wait DURATION.")
    #expect(complaint("run", "-n") == nil)
  }
}
