import Hashing
import PipelineModel
import Query

/// What is known of an asset as an XMP packet, for a file beside the picture.
///
/// The form is fixed and small, so it is written here: the libraries that write XMP decode pictures, too,
/// which this process must not. Source: ISO 16684-1; Adobe XMP specification, parts 1 and 2.
struct XMPSidecar: Sendable {
  /// The file's contents.
  let bytes: [UInt8]
  /// Whether nothing is known of the asset.
  let isEmpty: Bool
  private let head: String

  /// Greater than any that this type writes for texts of usual length.
  static let mostBytes = 16 << 20

  var digest: Digest { SHA256.digest(of: bytes) }

  /// Whether a file was written by this type.
  static func isOwn(_ file: [UInt8]) -> Bool { file.starts(with: beginning.utf8) }

  /// Whether a file was written by this type for the same asset.
  func isAboutSameAsset(as file: [UInt8]) -> Bool { file.starts(with: head.utf8) }

  private static let beginning = """
    <?xpacket begin="\u{FEFF}" id="W5M0MpCehiHzreSzNTczkc9d"?>
    <x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="pipeline">
     <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="urn:uuid:
    """

  /// The packet of title, caption, tags, rating and albums.
  init(_ values: AssetValues, of asset: AssetID) {
    head = Self.beginning + "\(asset)\""
    var properties = ""
    for (name, field) in [("dc:title", TextField.title), ("dc:description", .caption)] {
      guard let text = values.texts[field]?.first else { continue }
      properties += Self.array(
        name, "rdf:Alt", ["<rdf:li xml:lang=\"x-default\">\(Self.escaped(text))</rdf:li>"])
    }
    for (name, field) in [("dc:subject", TextField.tag), ("pipeline:albums", .album)] {
      guard let texts = values.texts[field], !texts.isEmpty else { continue }
      properties += Self.array(
        name, "rdf:Bag", texts.map { "<rdf:li>\(Self.escaped($0))</rdf:li>" })
    }
    if let rating = values.numbers[.rating] {
      properties += "   <xmp:Rating>\(AssetValues.text(rating))</xmp:Rating>\n"
    }
    isEmpty = properties.isEmpty
    let text = """
      \(head)
          xmlns:dc="http://purl.org/dc/elements/1.1/"
          xmlns:xmp="http://ns.adobe.com/xap/1.0/"
          xmlns:pipeline="urn:pipeline:xmp:1#">
      \(properties)  </rdf:Description>
       </rdf:RDF>
      </x:xmpmeta>
      <?xpacket end="w"?>

      """
    bytes = Array(text.utf8)
  }

  private static func array(_ name: String, _ kind: String, _ items: [String]) -> String {
    let items = items.map { "     \($0)\n" }.joined()
    return "   <\(name)>\n    <\(kind)>\n\(items)    </\(kind)>\n   </\(name)>\n"
  }

  /// Text within an element; what XML 1.0 can't contain becomes U+FFFD.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\r": escaped += "&#13;"
      case "\t", "\n": escaped.unicodeScalars.append(scalar)
      case "\0"..<" ", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
