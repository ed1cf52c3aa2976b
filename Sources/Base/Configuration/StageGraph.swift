/// A topological order of stages: each stage after those that it needs.
package struct StageGraph: Sendable, Hashable {
  /// A stage and the stages it needs, by name.
  package struct Node: Sendable, Hashable {
    package var name: String
    package var needs: [String]

    package init(name: String, needs: [String]) {
      self.name = name
      self.needs = needs
    }
  }

  /// Stages that wait for each other.
  package struct Cycle: Error, Sendable, Hashable {
    /// The names in order of need; the first is repeated at the end.
    package let path: [String]
    /// The stage whose need closes the cycle.
    package var from: String { path[path.count - 2] }
    /// The need that closes the cycle.
    package var to: String { path[path.count - 1] }
  }

  /// The names, each after all its needs, otherwise in the given order.
  package let order: [String]
  private let needs: [String: [String]]

  /// Sorts stages.
  ///
  /// Names must be unique. Needs that name no stage are ignored.
  ///
  /// - Throws: The first cycle.
  package init(_ nodes: [Node]) throws(Cycle) {
    if let cycle = Self.cycles(in: nodes).first { throw cycle }
    let known = Set(nodes.map(\.name))
    var waiting = nodes.map { (name: $0.name, needs: Set($0.needs).intersection(known)) }
    var order: [String] = []
    // Without cycles some stage always has no open needs.
    while let next = waiting.firstIndex(where: { $0.needs.isEmpty }) {
      let name = waiting.remove(at: next).name
      order.append(name)
      for index in waiting.indices { waiting[index].needs.remove(name) }
    }
    self.order = order
    needs = Dictionary(nodes.map { ($0.name, $0.needs.filter(known.contains)) }) { first, _ in first
    }
  }

  /// The direct needs of a stage, in the given order.
  package func needs(of name: String) -> [String] { needs[name] ?? [] }

  /// All stages that need this one, directly or indirectly, in topological order.
  package func dependents(of name: String) -> [String] {
    var reached: Set = [name]
    for other in order where needs(of: other).contains(where: reached.contains) {
      reached.insert(other)
    }
    return order.filter { reached.contains($0) && $0 != name }
  }

  /// Finds cycles: at least one for each group of stages that wait for each other.
  package static func cycles(in nodes: [Node]) -> [Cycle] {
    let needs = Dictionary(nodes.map { ($0.name, $0.needs) }) { first, _ in first }
    var finished: Set<String> = []
    var found: [Cycle] = []
    for node in nodes where !finished.contains(node.name) {
      // An explicit stack, because a chain of needs may be as long as the file allows.
      var path = [node.name]
      var rest = [(needs[node.name] ?? [])[...]]
      while let name = path.last {
        guard let next = rest[rest.count - 1].popFirst() else {
          finished.insert(name)
          path.removeLast()
          rest.removeLast()
          continue
        }
        if let start = path.firstIndex(of: next) {
          found.append(Cycle(path: path[start...] + [next]))
        } else if !finished.contains(next), let further = needs[next] {
          path.append(next)
          rest.append(further[...])
        }
      }
    }
    return found
  }
}
