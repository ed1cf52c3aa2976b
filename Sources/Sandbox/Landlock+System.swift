import Files
import Glibc
import PipelineModel

extension Landlock {
  /// Allows what every program needs, and what the policy's words stand for.
  func allowSystem(_ policy: SandboxPolicy) throws(SandboxError) {
    for path in SystemPaths.libraries + SystemPaths.settings + SystemPaths.devices {
      try allowIfThere(.read, path)
    }
    try allowIfThere([.readFile, .writeFile], "/dev/null")
    if policy.network {
      for path in SystemPaths.network { try allowIfThere(.read, path) }
    }
    if policy.exec {
      for path in SystemPaths.programs { try allowIfThere([.read, .execute], path) }
    }
    if policy.exec || !policy.execute.isEmpty {
      for path in SystemPaths.loaders { try allowIfThere([.read, .execute], path) }
    }
  }
}
