import PipelineModel
import Testing

@testable import Query

/// What users say about assets.
@Suite("Annotations", .timeLimit(.minutes(1)))
struct AnnotationTests {
  @Test("Texts are kept in NFC and without spaces at their ends")
  func normalized() throws {
    let tag = try Annotation(checking: " \u{a0}Cafe\u{301} au lait\n", as: .tag)
    #expect(tag.text.unicodeScalars.elementsEqual("Caf\u{e9} au lait".unicodeScalars))
    #expect(try Annotation(checking: "+4", as: .rating).text == "4")
    #expect(try Annotation(checking: "a\r\n\tb", as: .caption).text == "a\n\tb")
    let cleared = try Annotation(checking: "whatever", as: .title, applies: false)
    #expect(cleared == Annotation(.title, "", applies: false))
  }

  @Test(
    "What can't be kept is refused, with the reason",
    arguments: [
      ("", Annotation.Property.tag, "is empty"), (" \n ", .caption, "is empty"),
      ("a\u{1}b", .album, "control characters"), ("a\nb", .title, "control characters"),
      ("a\0b", .caption, "control characters"), ("\u{9b}31m", .tag, "control characters"),
      ("6", .rating, "is no rating"), ("-2", .rating, "is no rating"),
      ("4.5", .rating, "is no rating"),
      (String(repeating: "\u{e9}", count: 501), .tag, "longer than 1000 bytes"),
      (String(repeating: "x", count: 16_001), .caption, "longer than 16000 bytes"),
    ])
  func refused(text: String, property: Annotation.Property, reason: String) throws {
    let error = #expect(throws: QueryError.self) { try Annotation(checking: text, as: property) }
    #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
  }

  private var described: AssetValues {
    var values = AssetValues()
    values.add(metadata: [
      "xmp": ["dc:subject": ["Cafe\u{301}", "draft"], "dc:title": "Title", "xmp:Rating": 3]
    ])
    return values
  }

  @Test("What a user says takes precedence over what the file says")
  func precedence() {
    var values = described
    values.add([
      Annotation(.tag, "draft", applies: false), Annotation(.tag, "keep"),
      Annotation(.tag, "Caf\u{e9}"), Annotation(.album, "B"), Annotation(.album, "A"),
      Annotation(.title, "", applies: false), Annotation(.rating, "-1"),
      Annotation(.caption, "Words"),
    ])
    #expect(values.texts[.tag] == ["Caf\u{e9}", "keep"])
    #expect(values.texts[.album] == ["B", "A"])
    #expect(values.texts[.title] == nil && values.texts[.caption] == ["Words"])
    #expect(values.numbers[.rating] == -1)
    values.add([
      Annotation(.album, "A", applies: false), Annotation(.album, "B", applies: false),
    ])
    #expect(!values.has(.text(.album)))
  }

  @Test("What was said already is no news, and the last of contradicting words counts")
  func news() {
    let said = [
      Annotation(.tag, "keep"), Annotation(.tag, "draft", applies: false), Annotation(.title, "T"),
    ]
    #expect(said.news(to: said).isEmpty)
    let all = [
      Annotation(.tag, "keep", applies: false), Annotation(.tag, "other"),
      Annotation(.title, "U"), Annotation(.title, "", applies: false), Annotation(.rating, "3"),
      Annotation(.album, "keep"), Annotation(.tag, "keep"), Annotation(.title, "T"),
    ]
    #expect(all.news(to: said) == all)
    #expect((all + all).news(to: said).count == 2 * all.count - 3)
    #expect(said.news(to: []) == said)
  }
}
