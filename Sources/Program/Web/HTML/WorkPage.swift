import Catalog
import Ingest
import LibrarySession
import PipelineModel
import Query
import Records

/// The page that shows what the program is doing, and what failed.
struct WorkPage {
  /// In the order of their columns.
  private static let states: [LedgerState] = [
    .waiting, .ready, .running, .done, .failed, .skipped,
  ]

  private let status: LibraryStatus
  private let stages: [StageProgress]
  private let runs: [RunRecord]
  private let failures: [(group: FailureGroup, assets: [GalleryAsset])]

  init(
    in library: ReadableLibrary, _ disclosure: Disclosure, sources: [BytePath]
  ) throws {
    status = try LibraryStatus(of: library, sources: sources)
    stages = try StageProgress.all(status.counts, in: library.catalog)
    runs = try library.catalog.lastRuns(10)
    failures = try library.failureGroups("", disclosure).map { group in
      let found = try library.catalog.foundAssets(group.assets, withRenditions: true) ?? []
      return (group, try found.map { try GalleryAsset($0, disclosure, in: library) })
    }
  }

  func write(_ frame: PageFrame) -> [UInt8] {
    frame.page(.work, title: "Work", url: "work") { html in
      html.element("h1", "Work")
      html.line()
      totals(&html)
      stageTable(&html)
      failureList(&html, mayRetry: frame.allowed.contains(.retry))
      runTable(&html)
      paths(&html)
    }
  }

  private func totals(_ html: inout HTMLWriter) {
    let counts = status.counts
    let rows = [
      ("Pictures and files", PageWording.number(counts.assets)),
      ("Originals", PageWording.bytes(counts.originalBytes)),
      ("Thumbnails", PageWording.bytes(counts.renditionBytes)),
      ("Free space", PageWording.bytes(status.free)),
      ("Failures", PageWording.number(status.failures)),
    ]
    html.definitions("totals", rows.map { name, value in (name, { $0.text(value) }) })
  }

  private func stageTable(_ html: inout HTMLWriter) {
    html.element("section") { html in
      html.line()
      html.element("h2", ["id": "stages"], "Stages")
      html.line()
      let isHeld = status.holder != nil
      html.element(
        "p", ["class": isHeld ? "holder active" : "holder idle"],
        isHeld ? "A run or watch is active." : "No run or watch is active.")
      html.line()
      table(
        &html, "stages",
        ["Stage", "Finished"]
          + Self.states.map { $0.rawValue.capitalizedWord }
          + ["Rate", "Time left"], numbersFrom: 2
      ) { html in
        for stage in stages {
          row(&html, stage)
          html.line()
        }
      }
    }
    html.line()
  }

  private func row(_ html: inout HTMLWriter, _ stage: StageProgress) {
    let all = stage.isDue + stage.isFinished
    html.element("tr") { html in
      html.element("th", ["scope": "row"], stage.name)
      html.element("td", ["class": "share"]) { html in
        html.element(
          "progress",
          [
            "max": "\(max(1, all))", "value": "\(stage.isFinished)",
            "aria-label": "Finished jobs of \(stage.name)",
          ], "")
        html.text(" \(all == 0 ? 100 : stage.isFinished * 100 / all) %")
      }
      for state in Self.states {
        let count = stage.count(state)
        let kind = count == 0 ? "n zero" : state == .failed ? "n failed" : "n"
        html.element("td", ["class": kind], PageWording.number(count))
      }
      let rate = stage.perMinute.map { "\(PageWording.number(Int($0.rounded())))/min" }
      html.element("td", ["class": "n"], rate ?? "–")
      html.element("td", ["class": "n"], stage.secondsLeft.map(PageWording.span) ?? "–")
    }
  }

  private func failureList(_ html: inout HTMLWriter, mayRetry: Bool) {
    html.element("section") { html in
      html.line()
      html.element("h2", "Failures")
      html.line()
      guard !failures.isEmpty else {
        html.element("p", ["class": "notice"], "Nothing failed.")
        html.line()
        return
      }
      html.element("ul", ["class": "failures"]) { html in
        html.line()
        for (group, assets) in failures {
          html.element("li") { html in
            html.element("p", ["class": "reason"], group.reason)
            html.line()
            html.element("p", ["class": "about"]) { html in
              html.element(
                "strong",
                "\(PageWording.number(group.count)) \(group.count == 1 ? "file" : "files")")
              html.text(" · \(group.stage) · \(group.failureClass)")
            }
            html.line()
            html.element("ul", ["class": "strip"]) { html in
              html.line()
              for asset in assets {
                html.element("li") { html in
                  GalleryPage.tile(
                    &html, asset, query: URLText.query([("q", "is:failed")]), isEager: false)
                }
                html.line()
              }
            }
          }
          html.line()
        }
      }
      html.line()
      html.element("p", ["class": "more-failures"]) { html in
        html.element(
          "a", ["class": "button", "href": URLText.query([("q", "is:failed")])], "All failed files")
        guard mayRetry else { return }
        html.text(" ")
        // The style hides it unless scripts run.
        html.element(
          "button", ["class": "button retry", "type": "button", "data-retry": "is:failed"],
          "Try all again")
      }
      html.line()
    }
    html.line()
  }

  private func runTable(_ html: inout HTMLWriter) {
    html.element("section") { html in
      html.line()
      html.element("h2", ["id": "runs"], "Runs")
      html.line()
      table(
        &html, "runs",
        ["Began", "Verb", "Took", "Imported", "Duplicates", "Jobs done", "Jobs failed"],
        numbersFrom: 2
      ) { html in
        for run in runs {
          row(&html, run)
          html.line()
        }
      }
    }
    html.line()
  }

  private func row(_ html: inout HTMLWriter, _ run: RunRecord) {
    html.element("tr") { html in
      let began = run.startedAt.rfc3339
      html.element("th", ["scope": "row"]) { html in
        html.element("time", ["datetime": began], PageWording.moment(began))
      }
      html.element("td", run.verb)
      let seconds = run.endedAt.map {
        Int(max(0, $0.microseconds - run.startedAt.microseconds) / 1_000_000)
      }
      html.element("td", ["class": "n"], seconds.map(PageWording.span) ?? "running")
      for name in ["imported", "duplicates", "jobsDone", "jobsFailed"] {
        let count = run.counters[name] ?? 0
        let isFailed = name == "jobsFailed" && count > 0
        html.element(
          "td",
          ["class": isFailed ? "n failed" : count == 0 && name == "jobsFailed" ? "n zero" : "n"],
          PageWording.number(count))
      }
    }
  }

  private func paths(_ html: inout HTMLWriter) {
    html.element("section") { html in
      html.line()
      html.element("h2", "Files still in the watched folders")
      html.line()
      html.definitions(
        "totals small",
        status.onDisk.map { state, count in
          (state.rawValue.capitalizedWord, { $0.text(PageWording.number(count)) })
        })
    }
    html.line()
  }

  private func table(
    _ html: inout HTMLWriter, _ name: String, _ columns: [String], numbersFrom first: Int,
    _ rows: (inout HTMLWriter) -> Void
  ) {
    html.element(
      "div", ["class": "wide", "role": "region", "aria-labelledby": name, "tabindex": "0"]
    ) { html in
      html.line()
      html.element("table", ["class": name]) { html in
        html.line()
        html.element("thead") { html in
          html.element("tr") { html in
            for (index, column) in columns.enumerated() {
              html.element("th", ["scope": "col", "class": index >= first ? "n" : nil], column)
            }
          }
        }
        html.line()
        html.element("tbody") { html in
          html.line()
          rows(&html)
        }
        html.line()
      }
      html.line()
    }
    html.line()
  }
}

extension String {
  /// The same with a capital first letter.
  fileprivate var capitalizedWord: String { prefix(1).uppercased() + dropFirst() }
}
