import Fixtures
import Glibc
import PipelineLibrary

extension Workspace {
  /// Opens the library as a program does that embeds `PipelineLibrary`.
  func openLibrary(
    program: String? = nil, configuration: String? = nil
  ) async throws -> Library {
    // All workspaces of a process have the same server.
    for (name, value) in bucket?.environment ?? [:] { setenv(name, value, 1) }
    return try await Library.open(
      at: library.description, catalog: database?.uri, program: program,
      configuration: configuration)
  }
}
