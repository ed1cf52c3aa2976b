package import PipelineModel

/// A problem in `pipeline.json` or in the options of a stage.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of problem, for scripts.
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The file can't be opened or read.
    case unreadable
    /// The file is writable by others or belongs to another user.
    case untrusted
    /// The file is larger than 1 MiB, or nested too deeply.
    case tooLarge
    case syntax
    case duplicateKey
    case unknownKey
    case missingKey
    case wrongType
    /// A value of the right type that is not allowed.
    case badValue
    case badDuration
    case badSize
    case badGlob
    /// A path that the kernel can't use.
    case badPath
    case duplicateStage
    /// Two stages do the same work.
    case sameWork
    /// `needs` or `input` names a stage that does not exist.
    case unknownStage
    /// `input` names a rendition that its stage does not make.
    case unknownRendition
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

  package var code: Code
  /// A sentence: what is wrong, the value, and what is allowed.
  package var message: String
  /// The place as a JSON pointer (RFC 6901); `nil` for the file as a whole.
  package var pointer: String?
  package var file: BytePath?
  /// The line of the value, from 1, if known.
  package var line: Int?
  /// The column of the value, in characters from 1, if known.
  package var column: Int?

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

/// All problems in a configuration, in file order if known.
package struct ConfigurationErrors: Error, Sendable, Hashable, CustomStringConvertible {
  /// At least one.
  package let errors: [ConfigurationError]

  package init(_ first: ConfigurationError, _ others: [ConfigurationError] = []) {
    errors = [first] + others
  }

  /// Makes a collection, or `nil` if there are no problems.
  package init?(_ errors: [ConfigurationError]) {
    guard !errors.isEmpty else { return nil }
    self.errors = errors
  }

  /// One problem per line.
  package var description: String {
    errors.map(\.description).joined(separator: "\n")
  }
}
