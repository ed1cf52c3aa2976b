import CPostgreSQL

/// What other sessions tell by `NOTIFY`. Source: libpq's chapter “Asynchronous Notification”.
extension PostgreSQLConnection {
  /// The server's process of this connection.
  package var backend: Int32 { isOpen ? functions.PQbackendPID(handle) : 0 }

  /// Takes the notifications that have come, without asking the server.
  ///
  /// - Returns: the server's processes of the sessions that they are of.
  package func takeNotifications() -> [Int32] {
    guard isOpen, functions.PQconsumeInput(handle) == 1 else { return [] }
    var senders: [Int32] = []
    while let notification = functions.PQnotifies(handle) {
      senders.append(notification.pointee.be_pid)
      functions.PQfreemem(notification)
    }
    return senders
  }
}
