import Catalog
import Files
import PipelineModel

extension Verification {
  /// Reads all recorded renditions.
  func checkRenditions(_ pass: Pass, _ report: (VerificationProblem) -> Void) throws {
    let reader = RenditionReader(library: library, catalog: catalog)
    while case .renditions(let last) = pass.place.next {
      let page = try catalog.renditions(after: last, limit: Self.pageSize)
      if page.isEmpty { pass.place.next = .end }
      for rendition in page {
        if pass.isOver { return }
        let condition = try reader.condition(of: rendition, isStopped: pass.isStopped)
        if condition == .whole { pass.damage.forget(rendition.id) }
        try tell(of: rendition, condition, report)
        advance(pass, to: .renditions(after: rendition.id))
      }
    }
  }

  private func tell(
    of rendition: RenditionRecord, _ condition: RenditionReader.Condition,
    _ report: (VerificationProblem) -> Void
  ) throws {
    let path = rendition.path.map { library.layout.root.appending($0) }
    let name = path?.printable ?? "\(rendition.stage)/\(rendition.name) in the catalog"
    let remedy = "`pipeline verify --repair` makes it again."
    var problem = VerificationProblem(
      kind: .renditionDamaged, digest: rendition.digest, path: path, message: "",
      rendition: rendition.id)
    switch condition {
    case .whole:
      return
    case .missing:
      problem.kind = .renditionMissing
      problem.message = "“\(name)” is missing; \(remedy)"
    case .damaged:
      problem.message = "“\(name)” differs from what was made; \(remedy)"
    case .unreadable(let error):
      problem.message = "\(error.message) It should be a rendition; \(remedy)"
    }
    // It may have been replaced, or moved, since the page was read.
    guard try catalog.rendition(rendition.id) == rendition else { return }
    problem.assets = try catalog.assets(withRendition: rendition.id)
    report(problem)
  }
}
