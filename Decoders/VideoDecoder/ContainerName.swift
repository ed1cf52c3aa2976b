import CLibAV

/// The usual name of a container, where libav has one demuxer for several.
enum ContainerName {
  static func name(of input: MediaInput) -> String {
    switch input.formatName {
    case "mov,mp4,m4a,3gp,3g2,mj2":
      return quickTime(ContainerTags.text("major_brand", in: input.container?.pointee.metadata))
    case "matroska,webm":
      return isWebM(input.bytes(at: 0, count: 64)) ? "webm" : "matroska"
    case let name: return name
    }
  }

  /// Files from before brands existed are QuickTime's.
  private static func quickTime(_ brand: String?) -> String {
    guard let brand else { return "mov" }
    if brand.hasPrefix("qt") { return "mov" }
    if brand.hasPrefix("3g2") { return "3g2" }
    if brand.hasPrefix("3g") { return "3gp" }
    return brand.hasPrefix("M4A") || brand.hasPrefix("M4B") ? "m4a" : "mp4"
  }

  /// Whether the first element has the document type `webm`; source: RFC 8794, “DocType”.
  private static func isWebM(_ head: [UInt8]) -> Bool {
    let element: [UInt8] = [0x42, 0x82, 0x84] + Array("webm".utf8)
    return head.indices.contains { head[$0...].starts(with: element) }
  }
}
