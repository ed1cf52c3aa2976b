internal import CSandbox
import Files
import Glibc
import PipelineModel

/// The links along a path, and its target.
struct PathResolution {
  struct Link: Hashable {
    /// The link's own path, without links.
    let path: BytePath
    /// As stored in the link: absolute, or relative to the link's folder.
    let target: BytePath
  }

  /// The links in the order of traversal.
  private(set) var links: [Link] = []
  /// The path without links; `nil` if it leads nowhere.
  private(set) var end: BytePath?

  /// The kernel's limit of links.
  private static let mostLinks = 40

  init(_ path: BytePath) {
    var place: BytePath = "/"
    var rest = Array(path.components.reversed())
    while let name = rest.popLast() {
      if name == "." { continue }
      if name == ".." {
        place = place.parent
        continue
      }
      let next = place.appending(name)
      let flags = Int32(pipeline_open_path) | O_NOFOLLOW
      guard let status = try? Descriptor.open(next, flags: flags).status() else { return }
      guard status.kind == .link else {
        place = next
        continue
      }
      guard links.count < Self.mostLinks, let target = Self.target(of: next) else { return }
      links.append(Link(path: next, target: target))
      if target.isAbsolute { place = "/" }
      rest += target.components.reversed()
    }
    end = place
  }

  private static func target(of link: BytePath) -> BytePath? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = link.withCString { readlink($0, &buffer, buffer.count) }
    guard count > 0 else { return nil }
    return BytePath(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
  }
}
