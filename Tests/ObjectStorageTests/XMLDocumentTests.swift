import Files
import Testing

@testable import ObjectStorage

@Suite("Documents of stores")
struct XMLDocumentTests {
  private func document(_ text: String) throws -> XMLDocument { try XMLDocument(Array(text.utf8)) }

  @Test("Elements are found by their paths, and repeated ones are groups")
  func groups() throws {
    let document = try document(
      """
      <?xml version="1.0"?>
      <List xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>a &amp; b</Name><Empty/>
        <Item><Key>one</Key><Owner><ID>x</ID></Owner><Size>1</Size></Item>
        <Item><Key>two</Key><Size>2</Size></Item>
      </List>
      """)
    #expect(document.text("List/Name") == "a & b")
    #expect(document.text("List/Empty") == "")
    #expect(document.text("List/Nothing") == nil)
    let items = document.groups("List/Item")
    #expect(items.map { $0["Key"] } == ["one", "two"])
    #expect(items.map { $0["Size"] } == ["1", "2"])
    #expect(items[0]["Owner/ID"] == "x")
  }

  @Test("An element that is repeated inside an item begins no other item")
  func repeated() throws {
    let document = try document(
      """
      <List>
        <Item><Sum>A</Sum><Sum>B</Sum><Key>one</Key></Item>
        <Item><Key>two</Key></Item>
        <Item><Sum>C</Sum></Item>
      </List>
      """)
    #expect(
      document.groups("List/Item") == [["Sum": "A", "Key": "one"], ["Key": "two"], ["Sum": "C"]])
  }

  @Test("Spaces before the declaration are skipped")
  func spaces() throws {
    #expect(try document("  \n <?xml version=\"1.0\"?><a><b>c</b></a>").text("a/b") == "c")
  }

  private static func nested(_ depth: Int, _ name: String = "a") -> String {
    String(repeating: "<\(name)>", count: depth) + String(repeating: "</\(name)>", count: depth)
  }

  @Test("Documents that are deeper, longer or wordier than those of stores are refused")
  func bounds() throws {
    #expect(try document(Self.nested(16)).leaves.count == 1)
    #expect(throws: FileError.self) { try document(Self.nested(17)) }
    #expect(throws: FileError.self) { try document(Self.nested(1_000_000)) }
    let name = String(repeating: "n", count: 64)
    #expect(try document("<\(name)/>").leaves.count == 1)
    #expect(throws: FileError.self) { try document("<n\(name)/>") }
    func list(_ count: Int) -> String { "<l>\(String(repeating: "<a/>", count: count))</l>" }
    #expect(try document(list(99_999)).leaves.count == 99_999)
    #expect(throws: FileError.self) { try document(list(100_000)) }
  }

  @Test(
    "What is no such document is refused",
    arguments: [
      "", "<a>", "<html><p>no</html>", "<a></b>", "<a>\u{1}</a>",
      "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
    ])
  func refused(text: String) { #expect(throws: FileError.self) { try document(text) } }
}
