import Files
import Glibc
import Hashing
import PipelineModel
import PipelinePlugin

/// Accepted files get a result, and at least one is done.
struct GoodFilesCheck: PluginCheck {
  let name = "good files"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let samples = bench.accepted
    let accepts = bench.manifest?.accepts?.joined(separator: ", ") ?? ""
    guard !samples.isEmpty else {
      throw CheckFailure(
        "It accepts \(accepts), but there is no such file to check it with.",
        advice: "Name a folder with files that it accepts: --files DIR.")
    }
    let plugin = try bench.startReady()
    var counts = (done: 0, skipped: 0, failed: 0)
    var lastReason = ""
    for sample in samples {
      switch try plugin.process(sample).result {
      case .done(let facts, let renditions):
        counts.done += 1
        try check(facts, renditions, of: sample, bench)
      case .skipped(let reason):
        counts.skipped += 1
        lastReason = reason
      case .failed(let failure):
        counts.failed += 1
        lastReason = failure.reason
        try check(failure, sample)
      }
    }
    guard counts.done > 0 else {
      throw CheckFailure(
        "None of the \(counted(samples.count, "file")) that it accepts was done. The last reason: "
          + lastReason,
        advice: "Correct it, or name a folder with files that it can work on: --files DIR.")
    }
    return .passed("\(counts.done) done, \(counts.skipped) skipped, \(counts.failed) failed")
  }

  private func check(
    _ facts: JSONValue, _ renditions: [PluginRendition], of sample: CheckSample,
    _ bench: CheckBench
  ) throws(CheckFailure) {
    let known = Set(bench.manifest?.facts ?? [])
    if let fact = (facts.object ?? [:]).keys.sorted().first(where: { !known.contains($0) }) {
      throw CheckFailure(
        "For \(sample.name) it found the fact “\(fact)”, which its manifest does not name.",
        advice: "Name all facts under “facts” in the manifest.")
    }
    guard renditions.isEmpty || bench.manifest?.makesRenditions == true else {
      throw CheckFailure(
        "For \(sample.name) it made renditions, but its manifest says that it makes none.",
        advice: "Set “makesRenditions” to true in the manifest.")
    }
  }

  private func check(_ failure: PluginFailure, _ sample: CheckSample) throws(CheckFailure) {
    guard failure.class == .environment else { return }
    throw CheckFailure(
      "For \(sample.name) it reports that the machine lacks something: \(failure.reason)",
      advice: "Install what it lacks. If the file is to blame, use the class “permanent”: "
        + "“environment” holds the stage for all files.")
  }
}

/// Damaged files get a result, and failures have the right class.
struct BadFilesCheck: PluginCheck {
  let name = "bad files"

  /// How many samples to damage; more take longer and reveal little more.
  private static let mostSamples = 4

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let samples = bench.accepted.prefix(Self.mostSamples)
    guard !samples.isEmpty else { return .skipped("it accepts none of the files") }
    let plugin = try bench.startReady()
    var count = 0
    for sample in samples {
      for (name, bytes) in sample.damaged {
        let path = try CheckFailure.unless(
          try bench.write(bytes, as: "damaged"), "A file for it can't be written.",
          advice: "Free some space.")
        let damaged = CheckSample(name: name, path: path, bytes: bytes, facts: sample.facts)
        if case .failed(let failure) = try plugin.process(damaged).result,
          failure.class != .permanent
        {
          throw CheckFailure(
            "For \(name) it failed as \(failure.class.rawValue): \(failure.reason)",
            advice: "Report damaged bytes as “permanent”: other classes are retried, "
              + "or hold the stage for all files.")
        }
        count += 1
      }
    }
    return .passed("each of \(count) got a result")
  }
}

/// The same bytes produce the same facts and files in any process and order.
struct DeterminismCheck: PluginCheck {
  let name = "same result"

  private static let mostSamples = 20

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    let samples = Array(bench.accepted.prefix(Self.mostSamples))
    guard !samples.isEmpty else { return .skipped("it accepts none of the files") }
    let first = try results(of: samples, bench)
    let second = try results(of: samples.reversed(), bench).reversed()
    for (sample, (one, other)) in zip(samples, zip(first, second)) {
      if let difference = difference(one, other) {
        throw CheckFailure(
          "For \(sample.name) it gave two results: \(difference).",
          advice: "Don't depend on the time, random numbers, paths or earlier jobs. A finished job "
            + "never runs again, so its result must not depend on when it ran.")
      }
    }
    return .passed("\(counted(samples.count, "file")), twice, in two processes")
  }

  private func results(
    of samples: [CheckSample], _ bench: CheckBench
  ) throws(CheckFailure) -> [CheckedPlugin.Job] {
    let plugin = try bench.startReady()
    return try samples.map { sample throws(CheckFailure) in try plugin.process(sample) }
  }

  private func difference(_ one: CheckedPlugin.Job, _ other: CheckedPlugin.Job) -> String? {
    switch (one.result, other.result) {
    case (.done(let facts, let renditions), .done(let otherFacts, let otherRenditions)):
      let names = Set((facts.object ?? [:]).keys).union((otherFacts.object ?? [:]).keys)
      if let name = names.sorted().first(where: { facts[$0] != otherFacts[$0] }) {
        // Decoded from JSON, so it can be encoded.
        let values = [facts, otherFacts].map { value in
          value[name].flatMap { try? JSONText.encode($0) } ?? "nothing"
        }
        return "the fact “\(name)” is \(values[0]) and \(values[1])"
      }
      if renditions != otherRenditions { return "renditions have different names, types or sizes" }
      for (rendition, digests) in zip(renditions, zip(one.renditions, other.renditions))
      where digests.0 != digests.1 {
        return "the rendition “\(rendition.name)” has different bytes"
      }
      return nil
    case (.skipped, .skipped): return nil
    case (.failed(let failure), .failed(let otherFailure)):
      return failure.class == otherFailure.class ? nil : "failures of different classes"
    default: return "different outcomes"
    }
  }
}

/// It writes only to its output folder, even if the sandbox allows more.
struct WritingCheck: PluginCheck {
  let name = "writing"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard !bench.accepted.isEmpty else { return .skipped("it accepts none of the files") }
    let plugin = try bench.startReady(mayChangeInput: true)
    var leftovers: [BytePath] = []
    for sample in bench.accepted.prefix(20) {
      let request = try plugin.prepare(sample)
      let before = try state(of: plugin.input)
      plugin.begin(request)
      leftovers += try plugin.finish(request).leftovers
      try compare(before, try state(of: plugin.input), sample)
      try plugin.clear()
    }
    guard let file = leftovers.first else { return .passed("only renditions") }
    return .passed(
      "\(counted(leftovers.count, "file")) that no result names, such as \(file.printable), "
        + "discarded")
  }

  private func compare(
    _ before: [BytePath: FileState], _ after: [BytePath: FileState], _ sample: CheckSample
  ) throws(CheckFailure) {
    let names = Set(before.keys).union(after.keys).sorted()
    guard let name = names.first(where: { before[$0] != after[$0] }) else { return }
    let what =
      switch (before[name], after[name]) {
      case (nil, _): "made “\(name.printable)” in its input folder"
      case (_, nil): "removed “\(name.printable)” from its input folder"
      default: "changed its input"
      }
    throw CheckFailure(
      "For \(sample.name) it \(what).",
      advice: "Write only to the request's output folder; in a worker, the sandbox makes other "
        + "writes fail.")
  }

  private struct FileState: Equatable {
    let digest: Digest
    let modified: Int64
    let permissions: UInt32
  }

  private func state(of folder: BytePath) throws(CheckFailure) -> [BytePath: FileState] {
    try CheckFailure.unless(
      try states(in: Descriptor.openFolder(folder)), "Its input folder can no longer be read.",
      advice: "Don't change the input folder.")
  }

  private func states(in folder: Descriptor) throws(FileError) -> [BytePath: FileState] {
    var states: [BytePath: FileState] = [:]
    for entry in try folder.entries() {
      let status = try folder.status(of: entry.name)
      let bytes = status.kind == .regular ? try folder.readFile(entry.name, limit: 1 << 30) : []
      states[entry.name] = FileState(
        digest: SHA256.digest(of: bytes), modified: status.identity.modified,
        permissions: status.permissions)
    }
    return states
  }
}
