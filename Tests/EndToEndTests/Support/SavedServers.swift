import Fixtures
import PipelineModel

/// What a workspace's servers had at a moment.
struct SavedServers {
  /// A copy of the database.
  fileprivate let database: DatabaseLocation
  /// The bucket's objects by key.
  fileprivate let objects: [String: [UInt8]]
}

extension Workspace {
  /// Copies what the servers have, if there are any.
  func saveServers() throws -> SavedServers? {
    guard let database, let bucket else { return nil }
    return SavedServers(
      database: try PostgreSQLServer.shared.copy(database), objects: try bucket.objects())
  }

  /// Puts back what the servers had.
  func restoreServers(_ saved: SavedServers) throws {
    guard let database, let bucket else { return }
    try PostgreSQLServer.shared.replace(database, by: saved.database)
    let now = try bucket.objects()
    for key in now.keys where saved.objects[key] == nil { try bucket.remove(key) }
    for (key, bytes) in saved.objects where now[key] != bytes { try bucket.write(bytes, to: key) }
  }
}
