import CExpat
import Files
import Glibc
import PipelineModel

/// What a small XML document says: the text of its elements without children, by path.
///
/// The parser is expat, opened when the first document comes. Documents with a type declaration are
/// refused, so entities can't expand. Source: libexpat's reference, “XML_ParserCreate” and following.
struct XMLDocument: Equatable {
  /// An element with text, in the order of the document.
  struct Leaf: Equatable {
    /// The names from the root on, such as `ListBucketResult/Contents/Key`.
    var path: String
    var text: String
  }

  private(set) var leaves: [Leaf] = []
  /// The elements with children, in the order of their ends.
  private var parents: [Parent] = []

  private struct Parent: Equatable {
    var path: String
    /// Where the elements without children inside it are.
    var leaves: Range<Int>
  }

  // Listings have elements of depth 4, and some 10,000 of them; names have less than 40 bytes.
  private static let greatestDepth = 16
  private static let mostElements = 100_000
  private static let longestName = 64

  /// The first element with such a path.
  func text(_ path: String) -> String? { leaves.first { $0.path == path }?.text }

  /// The elements inside each element of a path, as one dictionary each; the first of each name.
  func groups(_ path: String) -> [[String: String]] {
    parents.filter { $0.path == path }.map { parent in
      let inside = leaves[parent.leaves].map { leaf in
        (String(leaf.path.dropFirst(path.count + 1)), leaf.text)
      }
      return Dictionary(inside) { first, _ in first }
    }
  }

  /// - Throws: `FileError` of code `other` if the bytes are no such document, `unavailable` without
  ///   expat.
  init(_ bytes: [UInt8]) throws(FileError) {
    let expat = try Expat.shared.get()
    guard let parser = expat.make(nil) else {
      throw FileError(.unavailable, "expat has no memory for a document.", path: nil)
    }
    defer { expat.free(parser) }
    // Some servers send spaces while they work, even before the document's declaration.
    let bytes = bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    let reading = Reading { _ = expat.stop(parser, 0) }
    expat.setUserData(parser, Unmanaged.passUnretained(reading).toOpaque())
    expat.setElements(
      parser, { context, name, _ in XMLDocument.reading(context).begin(name) },
      { context, _ in XMLDocument.reading(context).end() })
    expat.setText(parser) { XMLDocument.reading($0).add($1, Int($2)) }
    expat.setDoctype(parser) { context, _, _, _, _ in XMLDocument.reading(context).refuse() }
    let status = withExtendedLifetime(reading) {
      bytes.withUnsafeBytes { bytes in
        expat.parse(
          parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 1)
      }
    }
    guard status == XML_STATUS_OK, !reading.isRefused else {
      throw FileError(.other, "The store's answer is no XML as S3 has it.", path: nil)
    }
    leaves = reading.leaves
    parents = reading.parents
  }

  /// What the parser's callbacks work on.
  private final class Reading {
    private(set) var leaves: [Leaf] = []
    private(set) var parents: [Parent] = []
    private(set) var isRefused = false
    /// The elements that have begun, and how many leaves came before each.
    private var open: [(path: String, leaves: Int)] = []
    private var count = 0
    private var text: [UInt8] = []
    private var hasChildren = false
    private let stop: () -> Void

    init(stop: @escaping () -> Void) { self.stop = stop }

    func refuse() {
      isRefused = true
      stop()
    }

    func begin(_ name: UnsafePointer<CChar>?) {
      count += 1
      guard let name, strlen(name) <= longestName, open.count < greatestDepth,
        count <= mostElements
      else { return refuse() }
      let path = (open.last.map { $0.path + "/" } ?? "") + String(cString: name)
      open.append((path, leaves.count))
      text = []
      hasChildren = false
    }

    func add(_ bytes: UnsafePointer<CChar>?, _ count: Int) {
      text.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
    }

    func end() {
      // After a refusal, the parser may still end what it began.
      guard !isRefused, let element = open.popLast() else { return }
      if hasChildren {
        parents.append(Parent(path: element.path, leaves: element.leaves..<leaves.count))
      } else {
        leaves.append(Leaf(path: element.path, text: String(decoding: text, as: UTF8.self)))
      }
      hasChildren = true
    }
  }

  private static func reading(_ context: UnsafeMutableRawPointer?) -> Reading {
    guard let context else { preconditionFailure("Each parser's context is set.") }
    // It was set to a `Reading` that lives until parsing ends.
    return Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
  }
}

/// The functions of expat that are used.
private struct Expat: @unchecked Sendable {
  // Functions, which any thread may call.
  typealias Parser = OpaquePointer
  typealias Context = UnsafeMutableRawPointer
  typealias Text = UnsafePointer<CChar>
  typealias Attributes = UnsafeMutablePointer<UnsafePointer<CChar>?>
  typealias Begin = @convention(c) (Context?, Text?, Attributes?) -> Void
  typealias End = @convention(c) (Context?, Text?) -> Void
  typealias Characters = @convention(c) (Context?, Text?, Int32) -> Void
  typealias Doctype = @convention(c) (Context?, Text?, Text?, Text?, Int32) -> Void

  let make: @convention(c) (Text?) -> Parser?
  let free: @convention(c) (Parser?) -> Void
  let setUserData: @convention(c) (Parser?, Context?) -> Void
  let parse: @convention(c) (Parser?, Text?, Int32, Int32) -> XML_Status
  let stop: @convention(c) (Parser?, UInt8) -> XML_Status
  private let elements: @convention(c) (Parser?, Begin?, End?) -> Void
  private let text: @convention(c) (Parser?, Characters?) -> Void
  private let doctype: @convention(c) (Parser?, Doctype?) -> Void

  static let shared = Result<Expat, FileError> { () throws(FileError) in try Expat() }

  private init() throws(FileError) {
    let library = try DynamicLibrary(
      "libexpat.so.1", package: "libexpat1", for: "files in a bucket")
    make = try library.function("XML_ParserCreate", (@convention(c) (Text?) -> Parser?).self)
    free = try library.function("XML_ParserFree", (@convention(c) (Parser?) -> Void).self)
    setUserData = try library.function(
      "XML_SetUserData", (@convention(c) (Parser?, Context?) -> Void).self)
    parse = try library.function(
      "XML_Parse", (@convention(c) (Parser?, Text?, Int32, Int32) -> XML_Status).self)
    stop = try library.function(
      "XML_StopParser", (@convention(c) (Parser?, UInt8) -> XML_Status).self)
    elements = try library.function(
      "XML_SetElementHandler", (@convention(c) (Parser?, Begin?, End?) -> Void).self)
    text = try library.function(
      "XML_SetCharacterDataHandler", (@convention(c) (Parser?, Characters?) -> Void).self)
    doctype = try library.function(
      "XML_SetStartDoctypeDeclHandler", (@convention(c) (Parser?, Doctype?) -> Void).self)
  }

  func setElements(
    _ parser: Parser, _ begin: @escaping @convention(c) (Context?, Text?, Attributes?) -> Void,
    _ end: @escaping End
  ) { elements(parser, begin, end) }

  func setText(_ parser: Parser, _ handler: @escaping Characters) { text(parser, handler) }

  func setDoctype(_ parser: Parser, _ handler: @escaping Doctype) { doctype(parser, handler) }
}
