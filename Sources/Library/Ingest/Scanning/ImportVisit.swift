import Catalog
import Configuration
import Files
import Glibc
import PipelineModel
import Records

/// One path named to `import`: a file, or a folder with everything in it.
final class ImportVisit {
  private let library: ImportingLibrary
  private let report: any IngestReport
  private let source: IngestSource
  private let importer: Importer
  /// The path relative to the source; empty for the source itself.
  private let path: BytePath
  private let rules: SourceRules
  private var group = CandidateGroup()

  /// Finds the path.
  ///
  /// A path inside a configured source is recorded there, so that it has one state; any other below
  /// `/`. Nothing is ever removed from either.
  ///
  /// - Returns: `nil` if the path can't be examined; that is reported.
  init?(
    _ path: BytePath, sources: [SourceConfiguration], library: ImportingLibrary,
    report: any IngestReport, isStopped: @escaping @Sendable () -> Bool
  ) throws {
    self.library = library
    self.report = report
    let absolute: BytePath
    let home: (source: SourceConfiguration, path: BytePath)?
    do throws(FileError) {
      let parent = try FileSystem.realPath(of: path.parent)
      absolute = parent.appending(path.lastComponent)
      home = Self.home(of: absolute, among: sources)
      var configuration = home?.source ?? SourceConfiguration(path: "/")
      configuration.mode = .copy
      configuration.duplicates = .keep
      source = try IngestSource(configuration, for: library.layout)
      rules = SourceRules(configuration)
      importer = try Importer(
        library: library, source: source, report: report, isStopped: isStopped)
    } catch {
      report.file(FileEvent(path: path, outcome: .failed, reason: error.message))
      return nil
    }
    do {
      try library.check(absolute, isOutsideFor: "The path", keepsOffOthers: false)
    } catch let error as IngestError where error.code == .source {
      report.file(FileEvent(path: path, outcome: .failed, reason: error.message))
      return nil
    } catch is FileError {
      // A missing path can't be resolved; examining it reports that.
    }
    // Below the source, as chosen above.
    self.path = home?.path ?? absolute.relative(to: "/") ?? absolute
  }

  /// Finds the configured source that contains a path, however many links lead to it.
  private static func home(
    of path: BytePath, among sources: [SourceConfiguration]
  ) -> (source: SourceConfiguration, path: BytePath)? {
    for source in sources {
      // A missing source contains nothing.
      guard let root = try? FileSystem.realPath(of: source.path) else { continue }
      if path == root { return (source, BytePath(bytes: [])) }
      if let relative = path.relative(to: root) { return (source, relative) }
    }
    return nil
  }

  /// Imports the file, or all files in the folder that the rules accept.
  func run(isStopped: () -> Bool) throws {
    if path.isEmpty {
      try walk(isStopped: isStopped)
    } else {
      try importNamed(isStopped: isStopped)
    }
    try group.importFiles(by: importer)
    try importer.finish()
  }

  private func importNamed(isStopped: () -> Bool) throws {
    let status: FileStatus
    if let limit = library.pathLimit, !limit.admits(path) {
      return report.file(
        FileEvent(
          path: source.root.appending(path), outcome: .failed, reason: PathLimit.reason(path)))
    }
    do throws(FileError) {
      status = try source.folder.status(below: path)
    } catch {
      return report.file(
        FileEvent(path: source.root.appending(path), outcome: .failed, reason: error.message))
    }
    switch status.kind {
    case .regular: try add(path, status.identity, isWalked: false)
    case .folder: try walk(isStopped: isStopped)
    case .link:
      try importer.note(failed(path, "It is a symbolic link: name the file that it points to."))
    case .fifo, .socket, .device:
      try importer.note(failed(path, "It is not a regular file."))
    }
  }

  private func walk(isStopped: () -> Bool) throws {
    var scan: SourceScan
    do throws(FileError) {
      scan = try SourceScan(
        folderToWalk(), rules: rules, isRecursive: true,
        exclusion: library.exclusion(keepsOffOthers: false), limit: library.pathLimit)
    } catch {
      return try importer.note(failed(path, error.message))
    }
    while !isStopped(), let entry = scan.next() {
      let inner = path.appending(entry.path)
      if let limit = library.pathLimit, !limit.admits(inner) { continue }
      switch entry {
      case .file(_, let identity): try add(inner, identity, isWalked: true)
      case .ignored(_, let rule): try importer.note(ignored(inner, rule))
      case .unreadable(_, let error):
        try importer.note(failed(inner, error.message))
      }
    }
  }

  private func folderToWalk() throws(FileError) -> Descriptor {
    if path.isEmpty { return source.folder }
    let parent = try source.folder.openParent(of: path)
    return try Descriptor.openFolder(path.lastComponent, in: parent, followsLinks: false)
  }

  /// Adds a file.
  ///
  /// - Parameter isWalked: whether it was found in a folder: then the stored original of a known
  ///   file is only looked up, otherwise read.
  private func add(_ path: BytePath, _ identity: FileIdentity, isWalked: Bool) throws {
    let known = try library.catalog.sighting(source: source.recorded, path: path)
    var candidate = Candidate(path: path, identity: identity, known: known, isNamed: true)
    candidate.verifiesOriginal = !isWalked
    group.add(candidate)
    if group.isFull { try group.importFiles(by: importer) }
  }

  private func ignored(_ path: BytePath, _ rule: String) -> Sighting {
    Sighting(source: source.recorded, path: path, state: .ignored, reason: rule, seenAt: .now)
  }

  private func failed(_ path: BytePath, _ reason: String) -> Sighting {
    Sighting(source: source.recorded, path: path, state: .failed, reason: reason, seenAt: .now)
  }
}
