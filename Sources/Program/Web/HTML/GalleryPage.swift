import Catalog
import Ingest
import PipelineModel
import Query
import Records

/// The pages of pictures: all, those of a query, and those of a day.
struct GalleryPage {
  let search: GallerySearch
  /// The page's own address, without its query.
  let path: String
  let heading: String
  /// The asset behind which the page begins.
  let after: AssetID?

  /// Pictures of a page.
  private static let size = 100
  /// Pictures that a browser loads at once.
  private static let mostEager = 12
  private static let orders = [
    ("-taken", "Newest first"), ("taken", "Oldest first"), ("-imported", "Last imported"),
    ("name", "Name"), ("-size", "Largest first"), ("-rating", "Best rated"),
  ]

  init(_ search: GallerySearch, after: AssetID? = nil) {
    self.search = search
    self.after = after
    path = ""
    heading = "Pictures"
  }

  /// The pictures of a day, such as `2026-11-22`.
  init(day: String, sort: String?, after: AssetID?) {
    search = GallerySearch(query: "taken:\(day)", sort: sort)
    self.after = after
    path = "day/\(day)"
    heading = PageWording.day(day)
  }

  /// What is shown: pictures, or why there are none.
  private enum Content {
    case found(count: Int, [GalleryAsset], hasMore: Bool)
    case problem(String)
  }

  /// Writes the page.
  ///
  /// - Returns: also the status, which tells a query that can't be understood.
  func write(
    _ frame: PageFrame, _ disclosure: Disclosure, in library: ReadableLibrary
  ) throws -> (status: Int, html: [UInt8]) {
    do {
      return (200, write(try content(disclosure, in: library), frame))
    } catch let error as QueryError {
      return (400, write(.problem(error.message), frame))
    }
  }

  private func content(
    _ disclosure: Disclosure, in library: ReadableLibrary
  ) throws -> Content {
    var assets = try search.search(in: library, disclosure)
    let count = try assets.count(
      in: library.catalog, damaged: library.damagedAssets(for: assets.filter))
    assets.after = after
    // One more tells whether there is another page.
    let page = try library.page(of: assets, limit: Self.size + 1)
    return .found(
      count: count,
      try page.prefix(Self.size).map { try GalleryAsset($0, disclosure, in: library) },
      hasMore: page.count > Self.size)
  }

  private var isDay: Bool { !path.isEmpty }

  /// The query of a link that stays in this search.
  private func query(after: AssetID? = nil) -> String {
    URLText.query([
      ("q", isDay || search.query.isEmpty ? nil : search.query), ("sort", search.sort),
      ("after", after?.description),
    ])
  }

  /// The page's own address.
  private var url: String {
    let isUsual = search.sort == GallerySearch.newestFirst
    let query = URLText.query([
      ("q", isDay || search.query.isEmpty ? nil : search.query),
      ("sort", isUsual ? nil : search.sort),
      ("after", after?.description),
    ])
    return path.isEmpty && query.isEmpty ? "." : path + query
  }

  private func write(_ content: Content, _ frame: PageFrame) -> [UInt8] {
    let title = isDay || search.query.isEmpty ? heading : search.query
    return frame.page(.gallery, title: title, url: url, query: search.query) { html in
      switch content {
      case .problem(let sentence):
        summary(&html, count: 0)
        html.element("p", ["class": "notice", "role": "alert"], sentence)
        html.line()
      case .found(let count, let assets, let hasMore):
        summary(&html, count: count)
        if count == 0 {
          html.element(
            "p", ["class": "notice"],
            search.query.isEmpty
              ? "There are no pictures yet. Put some into a watched folder and run pipeline run."
              : "Nothing is found.")
          html.line()
        }
        sections(&html, assets)
        pages(&html, last: assets.last?.found.id, hasMore: hasMore)
      }
    }
  }

  private func summary(_ html: inout HTMLWriter, count: Int) {
    html.element("div", ["class": "summary"]) { html in
      html.line()
      html.element("h1", heading)
      html.line()
      html.element("p", ["class": "count"]) { html in
        html.element("strong", PageWording.number(count))
        html.text(count == 1 ? " picture" : " pictures")
      }
      html.line()
      html.element("label", ["class": "sort"]) { html in
        html.text("Order ")
        html.element("select", ["name": "sort", "form": "search"]) { html in
          html.line()
          for (value, name) in Self.orders {
            html.element(
              "option", ["value": value, "selected": value == search.sort ? "" : nil], name)
            html.line()
          }
        }
      }
      html.line()
    }
    html.line()
  }

  private func sections(_ html: inout HTMLWriter, _ assets: [GalleryAsset]) {
    var rest = assets[...]
    var shown = 0
    while let first = rest.first {
      let day = search.isByTime ? Self.day(of: first) : nil
      let run =
        search.isByTime ? rest.prefix { Self.day(of: $0) == day } : rest
      rest = rest.dropFirst(run.count)
      html.element("section", ["class": "day"]) { html in
        html.line()
        if let day {
          html.element("h2") { html in
            html.element("a", ["href": "day/\(day)"]) { html in
              html.element("time", ["datetime": day], PageWording.day(day))
            }
          }
          html.line()
        } else if search.isByTime {
          html.element("h2", "Without a date")
          html.line()
        }
        html.element("ul", ["class": "tiles"]) { html in
          html.line()
          for asset in run {
            html.element("li") { html in
              Self.tile(&html, asset, query: tileQuery, isEager: shown < Self.mostEager)
            }
            html.line()
            shown += 1
          }
        }
        html.line()
      }
      html.line()
    }
  }

  private var tileQuery: String {
    URLText.query([
      ("q", search.query.isEmpty ? nil : search.query), ("sort", search.sort),
    ])
  }

  private static func day(of asset: GalleryAsset) -> String? {
    asset.found.taken.map { String(GalleryAsset.time($0).prefix(10)) }
  }

  /// A picture, or a card with what is known of a file without one.
  ///
  /// - Parameter query: of the link, with its question mark.
  static func tile(
    _ html: inout HTMLWriter, _ asset: GalleryAsset, query: String, isEager: Bool = true
  ) {
    let url = "a/\(asset.found.id)\(query)"
    guard let thumbnail = asset.thumbnail else {
      return html.element("a", ["class": "tile card \(asset.state.rawValue)", "href": url]) {
        html in
        html.element("span", ["class": "kind"], asset.found.kind ?? "file")
        html.element("bdi", ["class": "name"], asset.found.name)
        let why: String? =
          switch asset.state {
          case .failed: "Failed"
          case .waiting: "Waiting"
          case .skipped, .done, .none: nil
          }
        if let why { html.element("span", ["class": "why"], why) }
      }
    }
    html.element("a", ["class": "tile", "href": url]) { html in
      html.void(
        "img",
        [
          "src": GalleryAsset.url(of: thumbnail),
          "width": pixels(asset.found.width, thumbnail.width),
          "height": pixels(asset.found.height, thumbnail.height), "alt": asset.found.name,
          "loading": isEager ? nil : "lazy", "decoding": "async",
        ])
      if asset.found.kind == "video", let duration = asset.duration {
        html.element("span", ["class": "badge"]) { html in
          html.element("span", ["class": "unseen"], "Video, ")
          html.text(PageWording.duration(duration))
        }
      }
    }
  }

  private static func pixels(_ known: Double?, _ other: Int) -> String {
    "\(known.flatMap { Int(exactly: $0) } ?? other)"
  }

  private func pages(_ html: inout HTMLWriter, last: AssetID?, hasMore: Bool) {
    guard after != nil || hasMore else { return }
    html.element("nav", ["class": "pages", "aria-label": "Pages of the gallery"]) { html in
      html.line()
      if after != nil {
        html.element("a", ["class": "button", "href": path + query()], "First page")
        html.line()
      }
      if hasMore, let last {
        html.element(
          "a", ["class": "button", "rel": "next", "href": path + query(after: last)], "Next page")
        html.line()
      }
    }
    html.line()
  }
}
