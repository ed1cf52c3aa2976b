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

  /// The first element with such a path.
  func text(_ path: String) -> String? { leaves.first { $0.path == path }?.text }

  /// The elements inside each element of a path, as one dictionary each.
  func groups(_ path: String) -> [[String: String]] {
    var groups: [[String: String]] = []
    for leaf in leaves where leaf.path.hasPrefix(path + "/") {
      let name = String(leaf.path.dropFirst(path.count + 1))
      // An element that comes again belongs to the next group: S3 repeats none inside these.
      if groups.last?[name] == nil, !groups.isEmpty {
        groups[groups.count - 1][name] = leaf.text
      } else {
        groups.append([name: leaf.text])
      }
    }
    return groups
  }

  /// - Throws: `FileError` of code `other` if the bytes are no such document, `unavailable` without
  ///   expat.
  init(_ bytes: [UInt8]) throws(FileError) {
    let expat = try Expat.shared.get()
    guard let parser = expat.make(nil) else {
      throw FileError(.unavailable, "expat has no memory for a document.", path: nil)
    }
    defer { expat.free(parser) }
    let reading = Reading()
    expat.setUserData(parser, Unmanaged.passUnretained(reading).toOpaque())
    expat.setElements(
      parser, { context, name, _ in XMLDocument.reading(context).begin(name) },
      { context, _ in XMLDocument.reading(context).end() })
    expat.setText(parser) { XMLDocument.reading($0).add($1, Int($2)) }
    expat.setDoctype(parser) { context, _, _, _, _ in XMLDocument.reading(context).isRefused = true
    }
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
  }

  /// What the parser's callbacks work on.
  private final class Reading {
    var leaves: [Leaf] = []
    var isRefused = false
    private var names: [String] = []
    private var text: [UInt8] = []
    private var hasChildren = false

    func begin(_ name: UnsafePointer<CChar>?) {
      names.append(name.map { String(cString: $0) } ?? "")
      text = []
      hasChildren = false
    }

    func add(_ bytes: UnsafePointer<CChar>?, _ count: Int) {
      text.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
    }

    func end() {
      if !hasChildren {
        leaves.append(
          Leaf(path: names.joined(separator: "/"), text: String(decoding: text, as: UTF8.self)))
      }
      hasChildren = true
      if !names.isEmpty { names.removeLast() }
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
  private let elements: @convention(c) (Parser?, Begin?, End?) -> Void
  private let text: @convention(c) (Parser?, Characters?) -> Void
  private let doctype: @convention(c) (Parser?, Doctype?) -> Void

  static let shared = Result<Expat, FileError> { () throws(FileError) in try Expat() }

  private init() throws(FileError) {
    let library = try DynamicLibrary(
      "libexpat.so.1", package: "libexpat1", for: "a store of originals in a bucket")
    make = try library.function("XML_ParserCreate", (@convention(c) (Text?) -> Parser?).self)
    free = try library.function("XML_ParserFree", (@convention(c) (Parser?) -> Void).self)
    setUserData = try library.function(
      "XML_SetUserData", (@convention(c) (Parser?, Context?) -> Void).self)
    parse = try library.function(
      "XML_Parse", (@convention(c) (Parser?, Text?, Int32, Int32) -> XML_Status).self)
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
