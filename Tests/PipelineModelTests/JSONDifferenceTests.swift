import PipelineModel
import Testing

@Suite("Differences of JSON values")
struct JSONDifferenceTests {
  @Test("Equal values have none; the first one is named by its place and both values")
  func first() {
    let sizes: JSONValue = ["sizes": [["name": "grid", "maxPixelSize": 256]], "quality": 80]
    #expect(JSONDifference.first(between: sizes, sizes) == nil)
    let other: JSONValue = ["sizes": [["name": "grid", "maxPixelSize": 512]], "quality": 80]
    let found = JSONDifference.first(between: sizes, other)
    #expect(found?.pointer == "/sizes/0/maxPixelSize")
    #expect(found?.first == 256 && found?.second == 512)
  }

  @Test("What one of them lacks is nothing there, and names are escaped as in a pointer")
  func lacking() {
    #expect(JSONDifference.first(between: ["a/b~c": 1], [:])?.pointer == "/a~1b~0c")
    #expect(JSONDifference.first(between: ["a/b~c": 1], [:])?.second == nil)
    #expect(JSONDifference.first(between: [1], [1, 2])?.pointer == "/1")
    #expect(JSONDifference.first(between: ["a": [:]], ["a": []])?.pointer == "/a")
    #expect(JSONDifference.first(between: nil, 1)?.pointer == "")
  }
}
