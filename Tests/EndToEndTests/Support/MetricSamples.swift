import Foundation
import Testing

/// Metrics read back from their text: the values by name and labels as they are written.
struct MetricSamples {
  let text: String
  let values: [String: Double]

  init(_ text: String) throws {
    self.text = text
    var values: [String: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let end = try #require(line.lastIndex(of: " "), "\(line)")
      let value = try #require(Double(line[line.index(after: end)...]), "\(line)")
      #expect(values.updateValue(value, forKey: String(line[..<end])) == nil, "twice: \(line)")
    }
    self.values = values
  }

  subscript(_ key: String) -> Int? { values[key].map { Int($0) } }

  /// The sum of all samples of a metric that have a label's value, or any.
  func sum(_ name: String, _ label: String = "") -> Int {
    values.reduce(0) { sum, sample in
      let isWanted =
        sample.key.hasPrefix("\(name){") && (label.isEmpty || sample.key.contains(label))
      return sum + (isWanted ? Int(sample.value) : 0)
    }
  }

  /// What Prometheus' own tool says against it, or of rules; empty if nothing.
  static func complaints(_ words: [String], input: String = "") throws -> String {
    let (input_, output) = (Pipe(), Pipe())
    let process = Process()
    process.executableURL = URL(fileURLWithPath: tool)
    process.arguments = words
    process.standardInput = input_
    process.standardOutput = output
    process.standardError = output
    try process.run()
    try input_.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try input_.fileHandleForWriting.close()
    let said = String(
      decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? said : "exit \(process.terminationStatus): \(said)"
  }

  private static let tool = "/usr/bin/promtool"
  static let hasTool = FileManager.default.isExecutableFile(atPath: tool)
}
