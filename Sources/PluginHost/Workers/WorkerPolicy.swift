/// Settings for handling workers, apart from job limits.
struct WorkerPolicy: Sendable {
  /// The most seconds for a plugin to load, be set up or answer a question.
  var patience = 30.0
  /// The seconds between a request to end and SIGKILL.
  var grace = 2.0
  /// The seconds that a worker may live after it closed its output.
  var closing = 0.5
  /// The jobs after which a worker is replaced, to recover leaks in libraries.
  var mostJobs = 2000
  /// A worker that uses more memory than this between two jobs is replaced, in bytes.
  var mostIdleMemory = 512 << 20
  /// The seconds until an idle worker is first checked; after that, the interval doubles with its
  /// idle time.
  var idleInterval = 2.0
  /// The most seconds between two checks of an idle worker.
  var mostIdleInterval = 30.0
  /// The idle seconds after which a worker is ended, so that whatever a file turned it into does
  /// not persist.
  var mostIdleTime = 300.0
}
