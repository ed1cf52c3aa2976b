import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// `work` and `nodes`: several processes on one library.
@Suite(
  "Work beside the process with the lock",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(10)))
struct WorkTests: WorkSuite {
  @Test("Some hundred jobs are each done once by a run and two others, whoever is killed")
  func together() throws {
    let shared = try SharedWorkspace(stages: [Self.identify, SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace, process: Self.count(to: 50_000))
    try shared.put(0..<1)
    try workspace.json("run")
    try shared.put(1..<300)
    let run = try workspace.program.start(["run", "--json"])
    var random = SeededRandom(for: "work together")
    var workers = [try shared.startWork(), try shared.startWork()]
    var killed = 0
    let end = ContinuousClock.now + .seconds(300)
    while run.isRunning {
      // Without a rescue, the run waits for ever.
      try #require(ContinuousClock.now < end, "The run waits for jobs that nobody does.")
      for index in workers.indices where try ended(workers[index]) > 3 {
        guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
        // A job that is interrupted once too often has failed.
        guard try shared.count("ledger WHERE state = 'running' AND interruptions > 1") == 0 else {
          continue
        }
        workers[index].signal(SIGKILL)
        #expect(try workers[index].wait(within: 60).signal == SIGKILL)
        killed += 1
        workers[index] = try shared.startWork()
      }
      try #require(killed < 1000)
      usleep(100_000)
    }
    let outcome = try run.wait(within: 120)
    #expect(outcome.exitCode == 0 && killed > 0, "\(killed) killed: \(outcome)")
    for worker in workers {
      worker.signal(SIGTERM)
      #expect(try worker.wait(within: 30).exitCode == 143)
    }
    try shared.expectDone(jobs: 600)
    #expect(try shared.count("participant WHERE state = 'expired' AND verb = 'work'") > 0)
  }

  @Test("A wrong key for the bucket is told when work begins, whether there are jobs or not")
  func wrongKey() throws {
    let shared = try SharedWorkspace(stages: [Self.identify], bucket: try TestBucket())
    let workspace = shared.workspace
    try shared.put(0..<2)
    try workspace.json("run")
    workspace.program.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
    try shared.configure("other.json", library: "other", stages: [Self.identify])
    let idle = try workspace.run("work", "--until-idle", "--config", "other.json")
    #expect(idle.exitCode == 0 && idle.errors.contains("The secret key"), "\(idle)")
  }

  @Test("A job that failed is due again by the server's clock, whatever those of the machines say")
  func retries() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(
      into: workspace,
      process: #"""
        echo '{"type":"result","job":"'$job'","result":{"outcome":"failed","failure":{'\
          '"class":"transient","reason":"Busy."}}}'; continue
        """#)
    try shared.put(0..<1)
    let ahead = try workspace.program.withClock("+10m").run(["run", "--json"])
    #expect(ahead.exitCode == 3, "\(ahead)")
    let now = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
    let left = try shared.database.first("SELECT max(not_before) - \(now) FROM pipeline.ledger")
    #expect((0...30_000_000).contains(left))
    try SmallPlugin.write(into: workspace)
    // Its triggers need what only the program's own sessions have.
    try shared.database.execute(
      """
      BEGIN; SET LOCAL session_replication_role = replica;
      UPDATE pipeline.ledger SET not_before = \(now) + 3000000; COMMIT
      """)
    try workspace.configure(
      stages: [SmallPlugin.stage], ["rescan": "1h", "catalog": .string(shared.address.uri)])
    let behind = try workspace.program.withClock("-10m").start(["watch", "--json"])
    try behind.wait(for: "the job", within: 25) {
      try shared.count("ledger WHERE state = 'done'") == 1
    }
    behind.signal(SIGTERM)
    #expect(try behind.wait(within: 30).exitCode == 143)
    try shared.expectDone(jobs: 1)
  }

  @Test("A run and --until-idle wait for the jobs of others, and the run counts them")
  func waits() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try SmallPlugin.write(into: workspace, process: Self.count(to: 4_000_000), folder: "slow")
    try shared.put(0..<1)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    try shared.configure("slow.json", stages: [SmallPlugin.stage(in: "slow")])
    let worker = try shared.startWork("slow.json")
    try worker.wait(for: "its job") { try shared.count("ledger WHERE state = 'running'") == 1 }
    let idle = try workspace.program.start(["work", "--until-idle", "--json"])
    let outcome = try workspace.json("run")
    #expect(outcome.summary["jobsDone"] == 1 && outcome.of("job").isEmpty)
    try shared.expectDone(jobs: 1, attempts: 2)
    let last = try idle.wait(within: 30)
    #expect(last.exitCode == 0, "\(last)")
    #expect(try last.events().summary["jobsDone"] == 0)
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
  }

  @Test("What a process was doing that is killed, a run does")
  func killed() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try SmallPlugin.write(into: workspace, process: "read -r line; exit 1", folder: "stuck")
    try shared.put(0..<3)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    try shared.configure("stuck.json", stages: [SmallPlugin.stage(in: "stuck")])
    let worker = try shared.startWork("stuck.json")
    try worker.wait(for: "its jobs") { try shared.count("ledger WHERE state = 'running'") == 3 }
    let run = try workspace.program.start(["run", "--json"])
    try run.wait(for: "its place") { try shared.count("participant WHERE verb = 'run'") == 1 }
    worker.signal(SIGKILL)
    #expect(try worker.wait(within: 30).signal == SIGKILL)
    let outcome = try run.wait(within: 60)
    #expect(outcome.exitCode == 0, "\(outcome)")
    #expect(try outcome.events().summary["jobsDone"] == 3)
    #expect(try shared.count("attempt WHERE outcome = 'interrupted'") == 3)
    try shared.expectDone(jobs: 3, attempts: 2)
  }

  @Test(
    "Stages that differ from the library's, or lack their plugin, are held in that process only")
  func otherStages() throws {
    let shared = try SharedWorkspace(stages: [Self.identify, SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try workspace.json("run")
    let other: JSONValue = [
      "name": "thumbnails", "plugin": "thumbnail",
      "options": ["sizes": [["name": "grid", "maxPixelSize": 64]]],
    ]
    try shared.configure(
      "other.json", stages: [Self.identify, SmallPlugin.stage(in: "gone"), other])
    try shared.put(0..<20)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    let outcome = try workspace.run(
      "work", "--until-idle", "--json", "--config", "other.json", within: 60)
    #expect(outcome.exitCode == 3, "\(outcome)")
    let events = try outcome.events()
    let held = Dictionary(
      events.of("stage").map { ($0["stage"]?.string ?? "", $0["reason"]?.string ?? "") },
      uniquingKeysWith: { $1 })
    #expect(held.keys.sorted() == ["mine", "thumbnails"])
    #expect(held["thumbnails"]?.contains("no stage of this name") == true)
    #expect(held["mine"]?.contains("gone") == true, "\(held)")
    #expect(events.summary["jobsDone"] == 20 && events.summary["jobsFailed"] == 0)
    #expect(
      try shared.count("ledger WHERE state = 'ready' AND class IS NULL AND attempts = 1") == 20)
    #expect(try shared.count("stage WHERE held IS NOT NULL") == 0)
    #expect(try workspace.json("failed").of("failure").isEmpty)
    // With its plugin it does the rest.
    let rest = try workspace.json("work", "--until-idle")
    #expect(rest.summary["jobsDone"] == 20 && rest.summary["stagesHeld"] == 0)
    try shared.expectDone(jobs: 40, attempts: 2)
  }

  @Test("What a plugin lacks on one machine holds its stage there, and is no failure of a job")
  func environment() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try SmallPlugin.write(
      into: workspace,
      process: #"""
        echo '{"type":"result","job":"'$job'","result":{"outcome":"failed","failure":{'\
        '"class":"environment","reason":"No licence."}}}'
        continue
        """#, folder: "lacking")
    try shared.put(0..<3)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    try shared.configure("lacking.json", stages: [SmallPlugin.stage(in: "lacking")])
    let outcome = try workspace.json(
      "work", "--until-idle", "--config", "lacking.json", exit: 3)
    #expect(outcome.of("stage").map { $0["reason"] } == ["No licence."])
    #expect(outcome.of("job").isEmpty && outcome.summary["jobsFailed"] == 0)
    #expect(
      try shared.count("ledger WHERE state = 'ready' AND class IS NULL AND attempts = 1") == 3)
    #expect(try shared.count("stage WHERE held IS NOT NULL") == 0)
    #expect(try workspace.json("failed").of("failure").isEmpty)
    #expect(try workspace.json("work", "--until-idle").summary["jobsDone"] == 3)
    try shared.expectDone(jobs: 3, attempts: 2)
  }

  @Test("A job that exceeds the limits of one machine is left to others, and is no failure")
  func limits() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try workspace.put("much more than the other", as: "large.txt")
    try workspace.put("also much more than the other", as: "larger.txt")
    try workspace.put("little", as: "small.txt")
    try workspace.json("run")
    try shared.database.execute(Self.again)
    var small = try #require(SmallPlugin.stage.object)
    small["limits"] = ["inputBytes": "10B"]
    try shared.configure("small.json", stages: [.object(small)])
    let outcome = try workspace.json("work", "--until-idle", "--config", "small.json")
    #expect(outcome.summary["jobsDone"] == 1 && outcome.summary["jobsFailed"] == 0)
    #expect(
      try shared.count("ledger WHERE state = 'ready' AND class IS NULL AND attempts = 1") == 2)
    #expect(try workspace.json("run").summary["jobsDone"] == 2)
    try shared.expectDone(jobs: 3, attempts: 2)
  }

  @Test("Jobs of which nobody tells are found all the same")
  func untold() throws {
    let shared = try SharedWorkspace(stages: [Self.identify])
    try shared.put(0..<3)
    try shared.workspace.json("run")
    let worker = try shared.startWork()
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    // It looks for jobs when it begins, and its other connection has something to say every few seconds.
    try worker.wait(for: "its rest") {
      try shared.database.first(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'pipeline/%'
          AND query NOT LIKE '%participant%' AND query_start < clock_timestamp() - interval '3 seconds'
        """) == 1
    }
    // As where a notification is lost; triggers would tell of the rows.
    try shared.database.execute(Self.again.replacing("; NOTIFY pipeline", with: ""))
    try worker.wait(for: "the jobs", within: 60) { try ended(worker) == 3 }
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
    try shared.expectDone(jobs: 3, attempts: 2)
  }

  @Test("SIGTERM gives back what does not end in time")
  func drain() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try SmallPlugin.write(into: workspace, process: "read -r line; exit 1", folder: "stuck")
    try shared.put(0..<5)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    try shared.configure("stuck.json", stages: [SmallPlugin.stage(in: "stuck")])
    let worker = try shared.startWork("stuck.json")
    try worker.wait(for: "a job") { try shared.count("ledger WHERE state = 'running'") > 0 }
    let nodes = try workspace.json("nodes")
    let node = try #require(nodes.of("node").first { $0["verb"] == "work" })
    #expect(node["state"] == "active" && node["process"]?.integer == Int(worker.process))
    #expect(node["jobsRunning"]?.integer ?? 0 > 0 && node["jobsEnded"] == 0)
    #expect(try workspace.run("nodes").output.contains("work"))
    worker.signal(SIGTERM)
    let end = try worker.wait(within: 30)
    #expect(end.exitCode == 143 && end.errors.isEmpty, "\(end)")
    #expect(try shared.count("ledger WHERE state = 'ready' AND interruptions = 0") == 5)
    #expect(try shared.count("attempt WHERE ended_at IS NULL OR outcome <> 'done'") == 0)
    #expect(try workspace.json("nodes").of("node").filter { $0["verb"] == "work" }.isEmpty)
    try workspace.json("run")
    try shared.expectDone(jobs: 5, attempts: 2)
  }

  @Test("A process that was stopped for too long is refused its results; others have done its jobs")
  func stopped() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try SmallPlugin.write(into: workspace, process: Self.count(to: 2_000_000), folder: "slow")
    try shared.put(0..<1)
    try workspace.json("run")
    try shared.configure("slow.json", stages: [SmallPlugin.stage(in: "slow")])
    let worker = try shared.startWork("slow.json")
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    try shared.database.execute(Self.again)
    try worker.wait(for: "a job") { try shared.count("ledger WHERE state = 'running'") == 1 }
    try shared.stop(worker)
    // As when it was not heard of for half a minute.
    try shared.database.execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE verb = 'work'")
    let run = try workspace.json("run")
    #expect(run.summary["jobsDone"] == 1)
    worker.signal(SIGCONT)
    try worker.wait(for: "its warning") {
      String(decoding: worker.errorsSoFar + worker.outputSoFar, as: UTF8.self).contains("dropped")
    }
    try worker.wait(for: "its new place") {
      try shared.count("participant WHERE verb = 'work' AND state = 'active'") == 1
    }
    #expect(try shared.count("participant WHERE verb = 'work' AND state = 'expired'") == 1)
    try shared.expectDone(jobs: 1, attempts: 2)
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
  }

  @Test("Work goes on by itself when the server is back, and ends by a signal while it is away")
  func serverAway() throws {
    let server = try PostgreSQLServer()
    let shared = try SharedWorkspace(stages: [Self.identify], server: server)
    let workspace = shared.workspace
    try shared.put(0..<2)
    try workspace.json("run")
    let worker = try shared.startWork()
    func wait(for count: Int64) throws {
      let connection = try PostgreSQLConnection(shared.address, applicationName: "tests")
      defer { connection.close() }
      try connection.execute(Self.again)
      try worker.wait(for: "\(count) jobs", within: 120) { try ended(worker) == count }
    }
    try wait(for: 2)
    try server.stop(.immediate)
    try server.start()
    try wait(for: 4)
    // For longer than a connection is waited for.
    try server.stop()
    try worker.wait(for: "its message", within: 180) {
      hasSaid("goes on when the database is back", worker)
    }
    #expect(hasSaid("It is tried again", worker))
    try server.start()
    try wait(for: 6)
    try server.stop()
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
  }

  @Test(
    "A folder of its own suffices where originals are in a bucket",
    .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)))
  func ownFolder() throws {
    let shared = try SharedWorkspace(stages: [Self.identify], bucket: TestBucket())
    let workspace = shared.workspace
    try shared.put(0..<10)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    try shared.configure("elsewhere.json", library: "elsewhere", stages: [Self.identify])
    let outcome = try workspace.json("work", "--until-idle", "--config", "elsewhere.json")
    #expect(outcome.summary["jobsDone"] == 10)
    #expect(workspace.exists("elsewhere/work.json") && workspace.exists("elsewhere/cache"))
    #expect(!workspace.exists("elsewhere/library.json"))
    try shared.expectDone(jobs: 10, attempts: 2)
    let checks = try workspace.run("doctor", "--config", "elsewhere.json").output
    #expect(checks.contains("for `pipeline work` on the library"), "\(checks)")
    // It is read there, and changed where the library is.
    #expect(try workspace.json("list", "--config", "elsewhere.json").count == 10)
    let gc = try workspace.run("gc", "--config", "elsewhere.json")
    #expect(gc.exitCode == 1 && gc.errors.contains("a folder of `pipeline work`"), "\(gc)")
    // What would be files is not made there.
    let thumbnails: JSONValue = [
      "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"], "storage": "file",
      "isolation": "none", "options": ["sizes": [["name": "grid", "maxPixelSize": 64]]],
    ]
    try shared.configure(
      "elsewhere.json", library: "elsewhere", stages: [Self.identify, thumbnails])
    let held = try workspace.json(
      "work", "--until-idle", "--config", "elsewhere.json", exit: 3)
    #expect(held.of("stage").first?["reason"]?.string?.contains("library's folder") == true)
    // Another library's, or somebody's files.
    let other = try SharedWorkspace(stages: [Self.identify], bucket: TestBucket())
    try other.put(0..<1)
    try other.workspace.json("run")
    try other.configure(
      "elsewhere.json", library: workspace.root.appending("elsewhere").description,
      stages: [Self.identify])
    #expect(
      try other.workspace.run("doctor", "--config", "elsewhere.json").output
        .contains("belongs to the library"))
    try other.configure("inbox.json", library: "mine", stages: [Self.identify])
    try other.workspace.makeFolder("mine")
    try other.workspace.put("precious", as: "file.txt", in: other.workspace.root.appending("mine"))
    for (name, part) in [
      ("elsewhere.json", "for work on the library"), ("inbox.json", "neither empty"),
    ] {
      let refused = try other.workspace.run(
        "work", "--until-idle", "--config", BytePath(name))
      #expect(refused.exitCode == 1 && refused.errors.contains(part), "\(refused)")
    }
    #expect(try other.workspace.files(below: "mine") == ["file.txt"])
  }

  @Test(
    "Renditions that are made in a folder of its own are in the database",
    .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)))
  func ownRenditions() throws {
    let thumbnails: JSONValue = [
      "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"], "isolation": "none",
      "options": ["sizes": [["name": "grid", "maxPixelSize": 64]]],
    ]
    let stages: JSONValue = [Self.identify, thumbnails]
    let shared = try SharedWorkspace(stages: stages, bucket: TestBucket())
    let workspace = shared.workspace
    try workspace.put(Pictures.jpeg(width: 96, height: 64), as: "a.jpg")
    try workspace.json("run")
    // Only these: their stage needs what the other found.
    try shared.database.execute(
      """
      SET session_replication_role = replica;
      UPDATE pipeline.ledger SET state = 'ready', facts = NULL
      WHERE id IN (SELECT ledger FROM pipeline.rendition);
      SET session_replication_role = origin
      """)
    try shared.configure("elsewhere.json", library: "elsewhere", stages: stages)
    let outcome = try workspace.json("work", "--until-idle", "--config", "elsewhere.json")
    #expect(outcome.summary["jobsDone"] == 1)
    #expect(try shared.count("rendition") == 1 && shared.count("rendition_bytes") == 1)
    #expect(try workspace.files(below: "elsewhere").allSatisfy { !"\($0)".hasSuffix(".sqlite") })
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("Each way of being wrong has its sentence")
  func wrong() throws {
    let file = try Workspace(stages: [Self.identify])
    try file.put("a", as: "a.txt")
    try file.json("run")
    for verb: BytePath in ["work", "nodes"] {
      let outcome = try file.run(verb)
      #expect(outcome.exitCode == 2 && outcome.errors.contains("in PostgreSQL"), "\(outcome)")
    }
    let shared = try SharedWorkspace(stages: [Self.identify])
    let early = try shared.workspace.run("work")
    #expect(early.exitCode == 1 && early.errors.contains("no catalog yet"), "\(early)")
    try shared.put(0..<1)
    try shared.workspace.json("run")
    // A copy of the library that lacks what was imported since, and originals on their way elsewhere.
    try Unprivileged.shell("cp -a library copy && rm -r copy/originals/*", in: shared.workspace)
    try shared.configure("copy.json", library: "copy", stages: [Self.identify])
    let copy = try shared.workspace.run("work", "--until-idle", "--config", "copy.json")
    #expect(copy.exitCode == 1 && copy.errors.contains("imported last"), "\(copy)")
    // Without a bucket, the folder has to be the library's.
    try shared.configure("elsewhere.json", library: "elsewhere", stages: [Self.identify])
    let outcome = try shared.workspace.run("work", "--config", "elsewhere.json")
    #expect(
      outcome.exitCode == 1 && outcome.errors.contains("have to be in a bucket"), "\(outcome)")
    // A server that is away is waited for, one that refuses is not.
    try shared.configure(
      "refused.json", stages: [Self.identify],
      ["catalog": .string(shared.address.uri.replacing("postgresql:///", with: "postgresql:///no"))]
    )
    let refused = try shared.workspace.run("work", "--config", "refused.json", within: 30)
    #expect(refused.exitCode == 1 && refused.errors.contains("createdb"), "\(refused)")
  }
}
