/// How workers are cared for, apart from the limits of their jobs.
struct WorkerCare: Sendable {
  /// What a plugin may take to be loaded and set up, or to answer a question, in seconds.
  var patience = 30.0
  /// The time between being asked to end and being ended, in seconds.
  var grace = 2.0
  /// The time that a worker has to end in that has closed its output, in seconds.
  var closing = 0.5
  /// A worker is replaced after this many jobs, for what a library never gives back.
  var mostJobs = 2000
  /// A worker that uses more bytes of memory than this between two jobs is replaced.
  var mostIdleMemory = 512 << 20
  /// When an idle worker is looked at first, in seconds; then each time that it has been idle
  /// for twice as long.
  var idleInterval = 2.0
  /// The most seconds between two looks at an idle worker.
  var mostIdleInterval = 30.0
  /// A worker that has had nothing to do for so many seconds is ended, and the next started with
  /// the next job: what a file may have made of it lives no longer.
  var mostIdleTime = 300.0
}
