package import PipelineModel

extension PipelineConfiguration {
  /// The configuration as a complete `pipeline.json` with all defaults.
  ///
  /// Paths are absolute; unset keys without a default are absent. Decoding it yields the same
  /// configuration with unset limits filled in, unless a path is not UTF-8, which JSON can't
  /// represent.
  package func effective() -> JSONValue {
    members { (key: TopKey) in
      switch key {
      case .schema: nil
      case .library: .string(library.description)
      case .catalog: catalog.map { .string($0.description) }
      case .sources: .array(sources.map { $0.effective() })
      case .plugins: texts(plugins)
      case .memoryBudget: .string(memoryBudget.notation)
      case .reserve: reserve.map { .string($0.notation) }
      case .rescan: .string(rescan.description)
      case .stages: .array(stages.map { $0.effective(memory: memoryShare) })
      }
    }
  }
}

extension SourceConfiguration {
  fileprivate func effective() -> JSONValue {
    members { (key: SourceKey) in
      switch key {
      case .path: .string(path.description)
      case .mode: .string(mode.rawValue)
      case .recursive: .bool(recursive)
      case .settle: .string(settle.description)
      case .complete: .string(complete.rawValue)
      case .include: texts(include.map(\.pattern))
      case .exclude: texts(exclude.map(\.pattern))
      case .duplicates: .string(duplicates.rawValue)
      case .take: .string(take.rawValue)
      case .emptyFolders: .string(emptyFolders.rawValue)
      case .maxMissing: .number(maxMissing)
      }
    }
  }
}

extension StageConfiguration {
  fileprivate func effective(memory share: ByteSize) -> JSONValue {
    members { (key: StageKey) in
      switch key {
      case .name: .string(name)
      case .plugin: .string(plugin)
      case .needs: .array(needs.map { .string($0) })
      case .concurrency: .integer(concurrency)
      // Abbreviations of two limits, which are written below.
      case .timeout, .memory: nil
      case .limits: limits.filled(memory: share, mayExecute: allow.exec).effective()
      case .attempts: .integer(attempts)
      case .isolation: .string(isolation.rawValue)
      case .storage: .string(storage.rawValue)
      case .allow: allow.effective()
      case .command: command.map { .array($0.map { .string($0) }) }
      case .options: options
      }
    }
  }
}

extension StageLimits {
  /// The limits that are set, as in `pipeline.json`.
  package func effective() -> JSONValue {
    members { (key: LimitKey) in
      switch key {
      case .time: time.map { .string($0.description) }
      case .cpu: cpu.map { .string($0.description) }
      case .memory: memory.map { .string($0.notation) }
      case .outputBytes: outputBytes.map { .string($0.notation) }
      case .files: files.map { .integer($0) }
      case .processes: processes.map { .integer($0) }
      case .inputBytes: inputBytes.map { .string($0.notation) }
      case .pixels: pixels.map { .integer($0) }
      case .frames: frames.map { .integer($0) }
      }
    }
  }
}

extension StageAllowance {
  fileprivate func effective() -> JSONValue {
    members { (key: AllowKey) in
      switch key {
      case .network: .bool(network)
      case .exec: .bool(exec)
      case .read: texts(read)
      case .write: texts(write)
      }
    }
  }
}

private func members<Key: CaseIterable & RawRepresentable<String>>(
  _ value: (Key) -> JSONValue?
) -> JSONValue {
  let pairs = Key.allCases.compactMap { key in value(key).map { (key.rawValue, $0) } }
  return .object(Dictionary(uniqueKeysWithValues: pairs))
}

private func texts(_ paths: [BytePath]) -> JSONValue {
  .array(paths.map { .string($0.description) })
}
