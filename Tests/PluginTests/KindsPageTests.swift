import Fixtures
import Foundation
import PictureDecoding
import Testing

/// The page about kinds of files, against the table that the plugins go by.
@Suite("The page about kinds", .timeLimit(.minutes(1)))
struct KindsPageTests {
  private func page() throws -> String {
    let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/kinds.md")
    return try String(contentsOf: url, encoding: .utf8)
  }

  /// The cells of all rows about kinds.
  private func rows() throws -> [[Substring]] {
    try page().split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("/") }
      .map { $0.split(separator: " | ") }.filter { $0.count == 5 }
  }

  @Test("It lists the types of the table, all of them and no others, with what decodes them")
  func types() throws {
    var listed: [String: Substring] = [:]
    for row in try rows() where row[0] != "| kind" {
      for match in row[1].matches(of: /`([^`]+)`/) { listed[String(match.output.1)] = row[2] }
    }
    let known = DecoderTable.entries.flatMap(\.types)
    #expect(Set(known).subtracting(listed.keys) == [])
    #expect(Set(listed.keys).subtracting(known) == [])
    for entry in DecoderTable.entries {
      let name =
        switch entry.decoder {
        case .libvips: entry.name == "JPEG" ? "libjpeg" : "libvips"
        case .library("raw"): "LibRaw"
        case .library("magick"): "MagickCore"
        case .library: "libav"
        }
      for type in entry.types {
        #expect(listed[type]?.contains(name) == true, "\(type) is decoded by \(name)")
        let second =
          switch entry.second {
          case .library("openjpeg"): "OpenJPEG"
          case .library: "MagickCore"
          case .libvips, nil: ""
          }
        #expect(second.isEmpty || listed[type]?.contains(second) == true, "\(type)")
      }
    }
  }

  @Test("It tells the limits of the table")
  func limits() throws {
    let limits = try #require(
      try page().split(separator: "\n").first { $0.hasPrefix("| bytes of a file |") })
    for (bytes, text) in [(1 << 30, "1 GiB for"), (10 << 20, "10 MiB for SVG")] {
      #expect(limits.contains(text))
      #expect(DecoderTable.entries.contains { $0.mostBytes == bytes })
    }
    for entry in DecoderTable.entries {
      guard let most = entry.mostBytes else { continue }
      #expect([1 << 30, 10 << 20].contains(most))
      // By its first word: “raw” stands for “raw files”, “PDF” for “PDF and AI”.
      let word = try #require(entry.name.split { " ,".contains($0) }.first)
      #expect(limits.contains(word), "\(entry.name)")
    }
  }
}
