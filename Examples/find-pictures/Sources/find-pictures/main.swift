// Prints the ID and the name of pictures that a query finds and that are wider than a number of pixels.
//
// usage: find-pictures LIBRARY QUERY WIDTH

import Foundation
import PipelineLibrary

let arguments = CommandLine.arguments
guard arguments.count == 4, let width = Int(arguments[3]) else {
  FileHandle.standardError.write(Data("usage: find-pictures LIBRARY QUERY WIDTH\n".utf8))
  exit(2)
}
do {
  let library = try await Library.open(at: arguments[1])
  let wide = try Fetch(#Predicate { ($0.width ?? 0) > width })
    .matching(query: arguments[2])
    .sorted(by: SortDescriptor(\.name))
  for try await batch in library.stream(wide) {
    for asset in batch { print("\(asset.id)\t\(asset.name)") }
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
