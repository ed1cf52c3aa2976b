import Configuration
import Files
import Foundation
import Glibc
import PipelineModel
import PipelinePlugin
import Synchronization

@testable import PluginHost

/// A plugin in the test itself, behind the same protocol as every other.
final class FakeBackend: PluginBackend {
  /// What a job is to do: look at the request, write to its folder, answer.
  typealias Work = @Sendable (PluginRequest, JobControl) -> PluginResult

  let manifest: PluginManifest
  let estimate: @Sendable ([String: JSONValue]) -> Int?
  let work: Work
  /// Why no instance can be made, or `nil`.
  let refusal = Mutex<PluginFailure?>(nil)
  private let counts = Mutex((running: 0, most: 0, jobs: 0, instances: 0))
  private let seen = Mutex<[PluginRequest]>([])

  init(
    _ manifest: PluginManifest,
    estimate: @escaping @Sendable ([String: JSONValue]) -> Int? = { _ in
      nil
    },
    work: @escaping Work
  ) {
    self.manifest = manifest
    self.estimate = estimate
    self.work = work
  }

  /// How many jobs ran at once at most.
  var mostAtOnce: Int { counts.withLock { $0.most } }
  /// How many jobs ran.
  var jobs: Int { counts.withLock { $0.jobs } }
  /// How many instances were made.
  var instances: Int { counts.withLock { $0.instances } }
  /// The requests of all jobs.
  var requests: [PluginRequest] { seen.withLock { $0 } }

  func makeInstance(options: JSONValue, context: InstanceContext) throws(PluginFailure)
    -> any PluginInstance
  {
    if let failure = refusal.withLock({ $0 }) { throw failure }
    counts.withLock { $0.instances += 1 }
    return FakeInstance(backend: self, limit: context.limits.time)
  }

  fileprivate func run(_ request: PluginRequest, _ job: JobControl) -> PluginResult {
    counts.withLock { counts in
      counts.jobs += 1
      counts.running += 1
      counts.most = max(counts.most, counts.running)
    }
    seen.withLock { $0.append(request) }
    let result = work(request, job)
    counts.withLock { $0.running -= 1 }
    return result
  }
}

/// An instance, which notices if it is used for two jobs at once.
private final class FakeInstance: PluginInstance {
  private let backend: FakeBackend
  private let limit: TimeSpan?
  private let isBusy = Atomic(false)

  init(backend: FakeBackend, limit: TimeSpan?) {
    self.backend = backend
    self.limit = limit
  }

  func estimate(
    facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void
  ) {
    completion(facts.map { backend.estimate($0) })
  }

  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void
  ) {
    guard !isBusy.exchange(true, ordering: .acquiring) else {
      return completion(.failed(PluginFailure(.permanent, "An instance was used twice at once.")))
    }
    let timeout = Timeout(limit, control: job)
    let answer = withExtendedLifetime(timeout) { backend.run(request, job) }
    let result = timeout.failure.map { PluginResult.failed($0) } ?? answer
    isBusy.store(false, ordering: .releasing)
    // On another thread now and then, as an answer of another process would come.
    if request.job.hasSuffix("3") {
      DispatchQueue.global().async { completion(result) }
    } else {
      completion(result)
    }
  }
}

extension FakeBackend {
  /// A manifest with what matters in tests.
  static func manifest(
    _ id: String, accepts: [String]? = nil, estimates: Bool = false, outputVersion: Int = 1,
    scope: PluginManifest.Scope = .original
  ) -> PluginManifest {
    PluginManifest(
      id: id, version: "1", outputVersion: outputVersion, scope: scope,
      options: [
        "type": "object", "additionalProperties": false,
        "properties": [
          "size": ["type": "integer", "default": 256], "name": ["type": "string", "default": "x"],
          "list": [
            "type": "array",
            "items": [
              "type": "object",
              "properties": ["n": ["type": "integer"], "q": ["type": "integer", "default": 80]],
            ],
          ],
        ],
      ],
      accepts: accepts, makesRenditions: true, estimates: estimates, runtime: "fake 1")
  }

  /// A plugin that says of every file that it is a JPEG of 30 by 20 pixels.
  static func identify(
    _ facts: JSONValue = ["mediaType": "image/jpeg", "width": 30, "height": 20]
  ) -> FakeBackend {
    FakeBackend(manifest("identify")) { _, _ in .done(facts: facts) }
  }
}

/// Writes a file to a job's folder.
func writeOutput(_ bytes: [UInt8], _ name: String, _ request: PluginRequest) {
  do {
    let folder = try Descriptor.openFolder(BytePath(request.output))
    let file = try Descriptor.open(
      BytePath(name), in: folder, flags: O_WRONLY | O_CREAT, mode: 0o644)
    try file.write(bytes)
  } catch {
    // The job then fails, which the test sees.
  }
}

/// A rendition that lies at a path.
func rendition(_ name: String, at path: String) -> PluginRendition {
  PluginRendition(name: name, path: path, mediaType: "image/jpeg", width: 3, height: 2)
}
