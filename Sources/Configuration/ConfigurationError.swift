package import PipelineModel

/// One thing that is wrong in `pipeline.json` or in the options of a stage.
package struct ConfigurationError: Error, Sendable, Hashable {
  /// The kind of problem, for scripts.
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The file can't be opened or read.
    case unreadable
    /// Others may write the file, or it belongs to somebody else.
    case untrusted
    /// The file is larger than 1 MiB, or nested too deeply.
    case tooLarge
    /// The text is not JSON.
    case syntax
    /// An object has the same key twice.
    case duplicateKey
    /// A key that nobody knows.
    case unknownKey
    /// A key that must be there is not.
    case missingKey
    /// A value of another type than expected.
    case wrongType
    /// A value of the right type that is not allowed.
    case badValue
    /// A text that is no duration.
    case badDuration
    /// A text that is no size.
    case badSize
    /// A pattern that is no glob.
    case badGlob
    /// A path that the kernel could not take.
    case badPath
    /// Two stages with one name.
    case duplicateStage
    /// Two stages that do the same.
    case sameWork
    /// A need that names no stage.
    case unknownStage
    /// A plugin that was not found.
    case unknownPlugin
    /// Stages that wait for each other.
    case cycle
    /// Folders that are the same, or one inside the other, and must not be.
    case overlap
    /// Two keys that say different things about one setting.
    case conflict
    /// A plugin's schema of its options that this program can't work with.
    case badSchema
  }

  /// The kind of problem.
  package var code: Code
  /// A sentence: what is wrong, the value, and what is allowed.
  package var message: String
  /// Where, as a JSON pointer (RFC 6901); `nil` where the file as a whole is meant.
  package var pointer: String?
  /// The configuration file, where it is known.
  package var file: BytePath?
  /// The line of the value in the file, from 1, where it is known.
  package var line: Int?
  /// The column of the value in the line, in characters from 1, where it is known.
  package var column: Int?

  /// Makes an error.
  package init(
    code: Code, message: String, pointer: String? = nil, file: BytePath? = nil, line: Int? = nil,
    column: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.pointer = pointer
    self.file = file
    self.line = line
    self.column = column
  }
}

extension ConfigurationError: CustomStringConvertible {
  /// File, line, column, message and pointer on one line, safe to write to a terminal.
  package var description: String {
    var text = ""
    if let file {
      text += file.printable
      if let line, let column { text += ":\(line):\(column)" }
      text += ": "
    }
    text += message
    if let pointer, !pointer.isEmpty { text += " (at \(BytePath(pointer).printable))" }
    return text
  }
}
