import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1))) struct StageGraphTests {
  private func node(_ name: String, _ needs: String...) -> StageGraph.Node {
    StageGraph.Node(name: name, needs: needs)
  }

  @Test("Stages come after what they need, otherwise in their own order")
  func order() throws {
    let nodes = [node("d", "b", "c"), node("b", "a"), node("x"), node("c", "a"), node("a")]
    let graph = try StageGraph(nodes)
    #expect(graph.order == ["x", "a", "b", "c", "d"])
    #expect(graph.needs(of: "d") == ["b", "c"])
    #expect(graph.dependents(of: "a") == ["b", "c", "d"])
    #expect(graph.dependents(of: "d").isEmpty)
    #expect(try StageGraph([]).order.isEmpty)
  }

  @Test("Needs that name no stage are left out")
  func unknown() throws {
    let graph = try StageGraph([node("a", "nobody")])
    #expect(graph.order == ["a"] && graph.needs(of: "a").isEmpty)
  }

  @Test("A cycle is thrown with its stages in order")
  func cycle() {
    let nodes = [node("x", "a"), node("a", "b"), node("b", "c"), node("c", "a")]
    let cycle = #expect(throws: StageGraph.Cycle.self) { try StageGraph(nodes) }
    #expect(cycle?.path == ["a", "b", "c", "a"])
    #expect(cycle?.from == "c" && cycle?.to == "a")
  }

  @Test("Every random graph is either sorted or has a true cycle")
  func random() {
    var generator = Seeded(state: 3)
    var sorted = 0
    for _ in 0..<2000 {
      let count = Int.random(in: 1...8, using: &generator)
      let nodes = (0..<count).map { index in
        let needs = (0..<count).filter { _ in Int.random(in: 0..<6, using: &generator) == 0 }
        return StageGraph.Node(name: "\(index)", needs: needs.map(String.init))
      }
      let needs = Dictionary(uniqueKeysWithValues: nodes.map { ($0.name, $0.needs) })
      do {
        let order = try StageGraph(nodes).order
        sorted += 1
        #expect(order.sorted() == nodes.map(\.name).sorted())
        for (index, name) in order.enumerated() {
          #expect(Set(needs[name] ?? []).isSubset(of: order[..<index]))
        }
      } catch {
        #expect(error.path.first == error.path.last && error.path.count > 1)
        for (from, to) in zip(error.path, error.path.dropFirst()) {
          #expect(needs[from]?.contains(to) == true)
        }
      }
    }
    #expect((200..<1800).contains(sorted))
  }

  @Test("A long chain needs no deep stack")
  func chain() throws {
    let nodes = (0..<2000).map { StageGraph.Node(name: "\($0)", needs: ["\($0 + 1)"]) }
    #expect(try StageGraph(nodes).order.first == "1999")
  }
}
