import Fixtures
import PipelineModel

/// A suite about `work`.
protocol WorkSuite {}

extension WorkSuite {
  static var identify: JSONValue {
    ["name": "identify", "plugin": "identify", "isolation": "none"]
  }

  /// Makes all jobs due again, which only a test does.
  static var again: String {
    """
    SET session_replication_role = replica; UPDATE pipeline.ledger SET state = 'ready', facts = NULL;
    SET session_replication_role = origin; NOTIFY pipeline
    """
  }

  /// What a plugin does that takes a while, in shell; it has no program that sleeps.
  static func count(to end: Int) -> String {
    "i=0; while [ $i -lt \(end) ]; do i=$((i+1)); done"
  }

  /// How many jobs a process has ended.
  func ended(_ run: BuiltProgramRun) throws -> Int {
    try run.eventsSoFar().of("job").filter { $0["outcome"] == "done" }.count
  }

  /// Whether a process has said something.
  func hasSaid(_ part: String, _ run: BuiltProgramRun) -> Bool {
    String(decoding: run.errorsSoFar + run.outputSoFar, as: UTF8.self).contains(part)
  }
}
