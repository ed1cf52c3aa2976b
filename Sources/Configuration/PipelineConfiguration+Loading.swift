package import PipelineModel

extension PipelineConfiguration {
  /// Reads, decodes and validates a configuration file.
  ///
  /// - Parameter file: An absolute path.
  /// - Throws: All problems of the file.
  package static func load(
    file: BytePath
  ) throws(ConfigurationErrors) -> PipelineConfiguration {
    let bytes: [UInt8]
    do {
      bytes = try ConfigurationFile.read(file)
    } catch {
      throw ConfigurationErrors(error)
    }
    return try decode(bytes: bytes, file: file)
  }

  /// Decodes and validates the bytes of a configuration file.
  ///
  /// Plugins and their options are not checked; see `problems(plugins:)`.
  ///
  /// - Parameters:
  ///   - bytes: JSON (RFC 8259) in UTF-8, at most 1 MiB.
  ///   - file: The absolute path of the file.
  /// - Throws: All problems of the file.
  package static func decode(
    bytes: some Sequence<UInt8>, file: BytePath
  ) throws(ConfigurationErrors) -> PipelineConfiguration {
    let bytes = Array(bytes)
    guard bytes.count <= ConfigurationFile.greatestSize else {
      throw ConfigurationErrors(
        ConfigurationError(
          code: .tooLarge, message: "The configuration is larger than 1 MiB.", file: file))
    }
    let document: JSONDocument
    do {
      document = try JSONReader.read(bytes, depth: greatestDepth, recordsPlaces: true)
    } catch {
      var place = TextPosition()
      place.advance(to: error.offset, in: bytes)
      throw ConfigurationErrors(
        ConfigurationError(
          code: code(of: error), message: error.message, file: file, line: place.line,
          column: place.column))
    }
    var decoder = ConfigurationDecoder(document: document, file: file)
    let configuration = decoder.configuration()
    let errors = decoder.errors(positionsIn: bytes)
    if let errors = ConfigurationErrors(errors) { throw errors }
    return configuration
  }

  /// The maximum nesting depth of arrays and objects.
  private static let greatestDepth = 64

  private static func code(of error: JSONError) -> ConfigurationError.Code {
    switch error.code {
    case .syntax: .syntax
    case .tooDeep, .tooMany: .tooLarge
    }
  }
}
