import Catalog
import Ingest
import PipelineModel
import Query
import Records

/// An asset as pages show it among others.
struct GalleryAsset: Sendable {
  /// What is known of its pictures.
  enum State: String, Sendable {
    case done, waiting, failed, skipped, none
  }

  let found: FoundAsset
  let thumbnail: RenditionRecord?
  let preview: RenditionRecord?
  /// Seconds of a film or a sound.
  let duration: Double?
  let state: State
  /// Why there is no picture of it.
  let reason: String?

  /// The lengths of the longer sides that are wanted.
  private static let (thumbnailSide, previewSide) = (200, 900)

  /// - Parameter found: with renditions.
  init(_ found: FoundAsset, _ disclosure: Disclosure, in library: ReadableLibrary) throws {
    self.found = found
    (thumbnail, preview) = Self.best(of: try disclosure.shown(found, in: library.catalog))
    if found.kind == "video" || found.kind == "audio" {
      duration = try library.catalog.asset(found.id)?.identity?["duration"]?.double
    } else {
      duration = nil
    }
    guard thumbnail == nil || found.state == "failed" else {
      (state, reason) = (found.state == "done" || found.state == "trashed" ? .done : .waiting, nil)
      return
    }
    (state, reason) = Self.state(of: try library.catalog.jobs(of: found.id))
  }

  /// The smallest rendition that is large enough, or the largest.
  private static func best(of sorted: [RenditionRecord], side: Int) -> RenditionRecord? {
    sorted.first { max($0.width, $0.height) >= side } ?? sorted.last
  }

  /// The renditions to show in a list and alone.
  ///
  /// - Parameter sorted: those that stand for an asset, the smallest first.
  static func best(of sorted: [RenditionRecord]) -> (
    thumbnail: RenditionRecord?, preview: RenditionRecord?
  ) {
    (best(of: sorted, side: thumbnailSide), best(of: sorted, side: previewSide))
  }

  /// The worst of what became of its jobs.
  static func state(of jobs: [JobRecord]) -> (State, String?) {
    if let job = jobs.first(where: { $0.state == .failed }) { return (.failed, job.reason) }
    let isDue = { (job: JobRecord) in
      job.state == .waiting || job.state == .ready || job.state == .running
    }
    if let job = jobs.first(where: isDue) { return (.waiting, job.reason) }
    // What comes last makes pictures.
    if let job = jobs.last(where: { $0.state == .skipped }) { return (.skipped, job.reason) }
    return (jobs.isEmpty ? .none : .done, nil)
  }

  /// The URL of a rendition: its bytes never change.
  static func url(of rendition: RenditionRecord) -> String {
    "r/\(rendition.digest.hex)/\(rendition.id)/\(URLText.encoded(rendition.name))"
  }

  /// When it was taken by the clock on the spot, such as `2024-05-17T12:30:00`.
  static func time(_ microseconds: Int64) -> String {
    let (day, second) = (86_400_000_000 as Int64, 1_000_000 as Int64)
    let days = microseconds / day - (microseconds % day < 0 ? 1 : 0)
    let seconds = (microseconds - days * day) / second
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return
      "\(CalendarDay.text(days))T\(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
  }

  /// A colour such as `#1f2d3c`; `nil` for any other text, which a plugin may have written.
  static func color(_ text: String) -> String? {
    text.wholeMatch(of: /#[0-9a-f]{6}/) == nil ? nil : text
  }

  /// The members of `api/v1/assets`.
  ///
  /// - Parameter color: the fact `dominantColor`, as a stage wrote it.
  func members(color: String?) -> JSONValue {
    func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    func number(_ number: Double?) -> JSONValue {
      number.map { Int(exactly: $0).map { .integer($0) } ?? .number($0) } ?? .null
    }
    return [
      "id": .string(found.id.description), "name": .string(found.name), "kind": text(found.kind),
      "type": text(found.type), "taken": text(found.taken.map(Self.time)),
      "width": number(found.width), "height": number(found.height),
      "colour": text(color.flatMap(Self.color)),
      "thumbnail": text(thumbnail.map(Self.url)), "preview": text(preview.map(Self.url)),
      "duration": number(duration), "rating": number(found.rating),
      "state": .string(state.rawValue),
      "reason": text(reason),
    ]
  }
}
