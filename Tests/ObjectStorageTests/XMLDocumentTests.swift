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

  @Test(
    "What is no such document is refused",
    arguments: [
      "", "<a>", "<html><p>no</html>", "<a></b>", "<a>\u{1}</a>",
      "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
    ])
  func refused(text: String) { #expect(throws: FileError.self) { try document(text) } }
}
