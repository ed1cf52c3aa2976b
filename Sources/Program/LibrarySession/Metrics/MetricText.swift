/// Metrics in Prometheus' text format, version 0.0.4. Source: prometheus.io/docs/instrumenting/exposition_formats.
package struct MetricText {
  package enum Kind: String { case counter, gauge, histogram }

  /// A value with its labels.
  package struct Sample {
    /// What the name of a part of a histogram ends with.
    var suffix = ""
    let labels: KeyValuePairs<String, String>
    let value: Value

    package init(
      _ labels: KeyValuePairs<String, String>, suffix: String = "", _ value: Value
    ) {
      self.labels = labels
      self.suffix = suffix
      self.value = value
    }
  }

  package enum Value {
    case count(Int)
    case measure(Double)
  }

  package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  package private(set) var text = ""

  package init() {}

  /// Adds a metric with all its samples; nothing if there are none.
  ///
  /// - Parameter help: a sentence without its full stop, as is usual in this format.
  package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
    guard !samples.isEmpty else { return }
    text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    for sample in samples {
      let labels = sample.labels.map { "\($0.key)=\"\(Self.escaped($0.value, quotes: true))\"" }
      let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
      text += "\(name)\(sample.suffix)\(list) \(Self.text(sample.value))\n"
    }
  }

  /// Adds a metric with a single sample; nothing if its value is not known.
  package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Value?) {
    add(name, kind, help, value.map { [Sample([:], $0)] } ?? [])
  }

  package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ count: Int?) {
    add(name, kind, help, count.map { .count($0) })
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .count(let count): "\(count)"
    case .measure(let measure): measure == .infinity ? "+Inf" : "\(measure)"
    }
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
