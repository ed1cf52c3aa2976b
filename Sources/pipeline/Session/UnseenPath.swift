import Configuration
import Files
import PipelineModel

/// What would become of a path that no run has come across.
struct UnseenPath {
  /// `ignored` where a rule says so, else `unseen`.
  let state: String
  /// Why, as a sentence.
  let reason: String

  init(path: BytePath, configuration: PipelineConfiguration) {
    guard
      let (source, relative) = configuration.sources.lazy.compactMap({ source in
        path.relative(to: source.path).map { (source, $0) }
      }).first
    else {
      state = "unseen"
      reason = "It is in none of the sources; `pipeline import` takes it."
      return
    }
    let status: FileStatus
    do throws(FileError) {
      status = try Descriptor.openFolder(path.parent).status(of: path.lastComponent)
    } catch {
      state = "unseen"
      reason = error.message
      return
    }
    let rules = SourceRules(source)
    if case .ignored(let rule) = rules.verdict(for: relative, isFolder: status.kind == .folder) {
      state = "ignored"
      reason = rule
    } else if relative.components.count > 1, !source.recursive {
      state = "ignored"
      reason = "The source is not recursive."
    } else if status.kind == .regular {
      state = "unseen"
      reason = "The next run looks at it."
    } else {
      state = "ignored"
      reason = "It is no regular file."
    }
  }
}
