import Testing

@testable import Web

/// The values that completions choose from.
@Suite("Field values", .timeLimit(.minutes(1)))
struct FieldValuesTests {
  @Test(
    "The most frequent values come first, those of the same number in the order of their letters")
  func order() {
    let values = FieldValues.sorted(["b": 2, "É": 2, "c": 7])
    #expect(values.map(\.text) == ["c", "b", "É"] && values.map(\.count) == [7, 2, 2])
    #expect(values.map(\.folded) == ["c", "b", "e"])
  }

  @Test("Values that nobody types are left out")
  func length() {
    let (long, longest) = (String(repeating: "x", count: 201), String(repeating: "y", count: 200))
    #expect(FieldValues.sorted([long: 9, longest: 1]).map(\.text) == [longest])
  }
}
