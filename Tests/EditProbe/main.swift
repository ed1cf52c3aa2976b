// Makes one edit of a library by `PipelineLibrary`, and prints what it came to; tests kill it.
//
// usage: edit-probe LIBRARY [CATALOG]

import Foundation
import PipelineLibrary

do {
  let arguments = CommandLine.arguments
  let library = try await Library.open(at: arguments[1], catalog: arguments.dropFirst(2).first)
  let summary = try await library.perform { edit in
    let all = try Fetch(query: "size>0")
    try edit.tag(all, add: ["keep", "edited"], remove: ["first"])
    try edit.album(all, add: ["A & B"])
    try edit.rate(all, 4)
    edit.trash(try Fetch(query: "name:first"))
    edit.retry(all)
  }
  print("\(summary.assets) \(summary.jobs)")
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
