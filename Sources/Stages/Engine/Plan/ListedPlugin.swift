package import Configuration
package import PipelineModel
package import PipelinePlugin
package import PluginHost

/// A plugin library that was found, or a plugin that a stage starts by a command.
package struct ListedPlugin {
  package enum Origin {
    case library(BytePath)
    case command([String], stage: String)
  }

  package let id: String
  package let origin: Origin
  package let isolation: StageConfiguration.Isolation
  /// What its stage grants it beyond the sandbox.
  package let allowance: StageAllowance
  private let program: Result<WorkerProgram, PluginFailure>

  /// Finds all plugins without starting any.
  package static func all(
    _ configuration: PipelineConfiguration?
  ) throws(PluginFailure) -> [ListedPlugin] {
    let finder = PluginFinder(configured: configuration?.plugins ?? [])
    let stages = configuration?.stages ?? []
    var plugins: [ListedPlugin] = []
    for found in try finder.all() {
      let isOpen = stages.contains {
        $0.plugin == found.id && $0.command == nil && $0.isolation == .none
      }
      plugins.append(ListedPlugin(found, isOpen: isOpen, secrets: PluginSecrets(configuration)))
    }
    guard let configuration else { return plugins }
    for stage in stages {
      guard let words = stage.command else { continue }
      plugins.append(ListedPlugin(stage, words, configuration, finder))
    }
    return plugins
  }

  private init(_ found: PluginFinder.Found, isOpen: Bool, secrets: PluginSecrets) {
    id = found.id
    origin = .library(found.path)
    isolation = isOpen ? .none : .process
    allowance = StageAllowance()
    if let refusal = found.refusal {
      program = .failure(PluginFailure(.environment, refusal))
    } else {
      program = .success(WorkerProgram(.library(found.path), secrets: secrets))
    }
  }

  private init(
    _ stage: StageConfiguration, _ words: [String], _ configuration: PipelineConfiguration,
    _ finder: PluginFinder
  ) {
    id = stage.plugin
    origin = .command(words, stage: stage.name)
    isolation = stage.isolation
    allowance = stage.allow
    program = Result { () throws(PluginFailure) in
      try StagePlan.program(of: stage, in: configuration, finder: finder)
    }
  }

  /// Starts querying the manifest; the caller waits later, so that queries run concurrently.
  package func ask() -> Result<ManifestQuery, PluginFailure> { program.map { ManifestQuery($0) } }
}

// MARK: Words for people

extension ListedPlugin {
  /// The file or command.
  package var place: String {
    switch origin {
    case .library(let path): path.printable
    case .command(let words, _): words.map { BytePath($0).printable }.joined(separator: " ")
    }
  }

  /// Where it works.
  package var placeOfWork: String { isolation == .none ? "in the program itself" : "in a worker" }

  /// What it may do beyond the sandbox.
  package var permissions: [String] {
    var words: [String] = []
    if allowance.network { words.append("use the network") }
    if allowance.exec { words.append("start programs") }
    words += allowance.read.map { "read \($0.printable)" }
    return words + allowance.write.map { "write \($0.printable)" }
  }
}
