package import PipelineModel

/// A problem in `pipeline.json` or in the options of a stage.
package struct ConfigurationError: Error, Sendable, Hashable {
  /// The kind of problem, for scripts.
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The file can't be opened or read.
    case unreadable
    /// The file is writable by others or belongs to another user.
    case untrusted
    /// The file is larger than 1 MiB, or nested too deeply.
    case tooLarge
    /// The text is not JSON.
    case syntax
    /// An object has the same key twice.
    case duplicateKey
    /// A key that does not exist.
    case unknownKey
    /// A required key is missing.
    case missingKey
    /// A value of the wrong type.
    case wrongType
    /// A value of the right type that is not allowed.
    case badValue
    /// A string that is not a duration.
    case badDuration
    /// A string that is not a size.
    case badSize
    /// A pattern that is not a glob.
    case badGlob
    /// A path that the kernel can't use.
    case badPath
    /// Two stages have the same name.
    case duplicateStage
    /// Two stages do the same work.
    case sameWork
    /// `needs` names a stage that does not exist.
    case unknownStage
    /// A plugin that was not found.
    case unknownPlugin
    /// Stages that wait for each other.
    case cycle
    /// Folders that must be separate are the same or nested.
    case overlap
    /// Two keys contradict each other.
    case conflict
    /// A plugin's option schema that this program can't use.
    case badSchema
  }

  /// The kind of problem.
  package var code: Code
  /// A sentence: what is wrong, the value, and what is allowed.
  package var message: String
  /// The place as a JSON pointer (RFC 6901); `nil` for the file as a whole.
  package var pointer: String?
  /// The configuration file, if known.
  package var file: BytePath?
  /// The line of the value, from 1, if known.
  package var line: Int?
  /// The column of the value, in characters from 1, if known.
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
