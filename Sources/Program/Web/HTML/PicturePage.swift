import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records

/// The page of one asset.
struct PicturePage {
  private let whole: WholeAsset
  private let found: FoundAsset?
  private let search: GallerySearch
  private let disclosure: Disclosure
  private let previous: AssetID?
  private let next: AssetID?

  /// - Parameter outlines: what tells the assets beside it, to link to them; `nil` for no links.
  init(
    _ id: AssetID, _ search: GallerySearch, _ disclosure: Disclosure, in library: ReadableLibrary,
    neighborsBy outlines: OutlineCache?
  ) throws {
    guard let asset = try library.catalog.asset(id) else { throw HTTPError.noAsset }
    whole = try WholeAsset(asset, in: library)
    found = try library.catalog.foundAssets([id], withRenditions: false)?.first
    self.search = search
    self.disclosure = disclosure
    let place = try outlines.flatMap { outlines in
      try library.surroundings(
        of: id, in: search.search(in: library, disclosure),
        outlines.exactEntry(for: search, at: library.catalog.revision))
    }
    previous = place?.previous
    next = place?.next
  }

  private var asset: AssetRecord { whole.asset }
  private var name: String { asset.name.description }

  private var query: String {
    URLText.query([
      ("q", search.query.isEmpty ? nil : search.query), ("sort", search.sort),
    ])
  }

  func write(_ frame: PageFrame) -> [UInt8] {
    frame.page(
      .picture, title: name, url: "a/\(asset.id)\(query)", query: search.query,
      asset: asset.id.description
    ) { html in
      stage(&html)
      steps(&html)
      // A rejected picture has no stars, either.
      let stars = max(0, found?.rating.flatMap { Int(exactly: $0) } ?? 0)
      html.element("div", ["class": "facts", "data-rating": "\(stars)"]) { html in
        html.line()
        html.element("h1") { html in html.element("bdi", name) }
        html.line()
        for (kind, text) in [("title", found?.title), ("caption", found?.caption)] {
          guard let text else { continue }
          html.element("p", ["class": kind], text)
          html.line()
        }
        if disclosure.hasOriginals {
          html.element("p", ["class": "actions"]) { html in
            html.element(
              "a", ["class": "button", "href": "o/\(asset.id)", "download": ""],
              "Download the original")
          }
          html.line()
        }
        group(&html, "Capture", capture)
        group(&html, "File", file)
        tags(&html, mayTag: frame.allowed.contains(.tag))
        jobs(&html)
      }
      html.line()
    }
  }

  private func stage(_ html: inout HTMLWriter) {
    let shown = GalleryAsset.best(
      of: disclosure.shown(asset.renditions, orientation: asset.orientation))
    if disclosure.hasOriginals, let type = found?.type, BrowserType.films.contains(type) {
      html.element("figure", ["class": "stage"]) { html in
        html.element(
          "video",
          [
            "src": "o/\(asset.id)", "controls": "", "playsinline": "", "preload": "metadata",
            "poster": (shown.preview ?? shown.thumbnail).map(GalleryAsset.url), "aria-label": name,
          ], "")
      }
    } else if let picture = shown.preview ?? shown.thumbnail {
      html.element("figure", ["class": "stage"]) { html in
        html.void(
          "img",
          [
            "src": GalleryAsset.url(of: picture), "width": "\(picture.width)",
            "height": "\(picture.height)", "alt": name,
          ])
      }
    } else {
      let (_, reason) = GalleryAsset.state(of: whole.jobs)
      html.element(
        "p", ["class": "stage none"],
        "There is no preview of this file.\(reason.map { " \($0)" } ?? "")")
    }
    html.line()
  }

  private func steps(_ html: inout HTMLWriter) {
    html.element("nav", ["class": "steps", "aria-label": "Pictures beside this one"]) { html in
      html.line()
      for (relation, word, id) in [("prev", "Previous", previous), ("next", "Next", next)] {
        guard let id else { continue }
        html.element(
          "a", ["class": "button", "rel": relation, "href": "a/\(id)\(query)"], word)
        html.line()
      }
      html.element("a", ["class": "button", "href": ".\(query)"], "All pictures")
      html.line()
    }
    html.line()
  }

  // MARK: Facts

  /// A row of facts: what it is, and writes its value.
  private static func row(_ name: String, _ text: String?) -> [HTMLWriter.Definition] {
    text.map { text in [(name, { $0.text(text) })] } ?? []
  }

  private var capture: [HTMLWriter.Definition] {
    var rows: [HTMLWriter.Definition] = []
    if let taken = found?.taken.map(GalleryAsset.time) {
      let day = PageWording.day(String(taken.prefix(10)))
      let text = "\(day), \(taken.dropFirst(11).prefix(5))"
      rows.append(("Taken", { $0.element("time", ["datetime": taken], text) }))
    }
    for (name, field, text) in [
      ("Camera", "camera", found?.camera), ("Lens", "lens", found?.lens),
    ] {
      guard let text else { continue }
      rows.append((name, { Self.link(&$0, "\(field)=\(Self.quoted(text))", text) }))
    }
    let exposure = [
      found?.exposure.map(PageWording.exposure),
      found?.aperture.map { "f/\(PageWording.plain($0))" },
      found?.iso.map { "ISO \(PageWording.plain($0))" },
      found?.focal.map { "\(PageWording.plain($0)) mm" },
    ].compactMap(\.self)
    rows += Self.row("Exposure", exposure.isEmpty ? nil : exposure.joined(separator: " · "))
    if !disclosure.hidesPlaces, let latitude = found?.latitude, let longitude = found?.longitude {
      let (south, west) = (PageWording.decimal(latitude, 5), PageWording.decimal(longitude, 5))
      rows.append(
        ("Place", { Self.link(&$0, "near:\(south),\(west),1km", "\(south), \(west)") }))
    }
    return rows
  }

  private var file: [HTMLWriter.Definition] {
    var rows = Self.row("Type", found?.type)
    rows += Self.row("Size", PageWording.bytes(asset.size))
    if let width = found?.width.flatMap({ Int(exactly: $0) }),
      let height = found?.height.flatMap({ Int(exactly: $0) })
    {
      let megapixels = Double(width) * Double(height) / 1e6
      rows += Self.row(
        "Pixels",
        "\(PageWording.number(width)) × \(PageWording.number(height)) · \(PageWording.three(megapixels)) MP"
      )
    }
    rows += Self.row("Duration", asset.identity?["duration"]?.double.map(PageWording.duration))
    let imported = asset.importedAt.rfc3339
    rows.append(
      ("Imported", { $0.element("time", ["datetime": imported], PageWording.moment(imported)) }))
    for sighting in whole.sightings {
      let path = sighting.source.appending(sighting.path).description
      rows.append(("Path", { $0.element("bdi", ["class": "path"], path) }))
    }
    let texts = [("SHA-256", asset.digest.hex), ("ID", asset.id.description)]
    rows += texts.map { name, text in (name, { $0.element("span", ["class": "path"], text) }) }
    return rows
  }

  private func group(_ html: inout HTMLWriter, _ heading: String, _ rows: [HTMLWriter.Definition]) {
    if rows.isEmpty { return }
    html.element("section") { html in
      html.line()
      html.element("h2", heading)
      html.line()
      html.definitions(nil, rows)
    }
    html.line()
  }

  /// Writes a link to what a query finds.
  private static func link(_ html: inout HTMLWriter, _ query: String, _ text: String) {
    html.element("a", ["href": URLText.query([("q", query)])], text)
  }

  /// A text as a query has it, whatever is in it.
  private static func quoted(_ text: String) -> String {
    "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }

  /// - Parameter mayTag: whether the page's script adds a field to an empty list.
  private func tags(_ html: inout HTMLWriter, mayTag: Bool) {
    let tags = found?.tags ?? []
    guard !tags.isEmpty || mayTag else { return }
    html.element("section") { html in
      html.line()
      html.element("h2", "Tags")
      html.line()
      html.element("ul", ["class": "tags"]) { html in
        html.line()
        for tag in tags {
          html.element("li") { html in
            Self.link(&html, "tag=\(Self.quoted(tag))", tag)
          }
          html.line()
        }
      }
      html.line()
    }
    html.line()
  }

  private func jobs(_ html: inout HTMLWriter) {
    if whole.jobs.isEmpty { return }
    html.element("section") { html in
      html.line()
      html.element("h2", "Stages")
      html.line()
      html.element("ul", ["class": "jobs"]) { html in
        html.line()
        for job in whole.jobs {
          html.element("li", ["class": job.state.rawValue]) { html in
            html.element("strong", job.stage)
            html.text(" ")
            html.element("span", ["class": "state"], job.state.rawValue)
            guard let reason = job.reason else { return }
            html.text(" ")
            html.element("span", ["class": "reason"], reason)
          }
          html.line()
        }
      }
      html.line()
    }
    html.line()
  }
}
