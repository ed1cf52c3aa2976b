package import PipelineModel

/// Where file systems should be mounted, and where they are. Source: fstab(5), proc(5).
package struct MountTable: Sendable {
  private let fstab: BytePath
  private let mounts: BytePath

  /// Creates a table.
  ///
  /// - Parameters:
  ///   - fstab: what should be mounted; the system's table by default.
  ///   - mounts: what is mounted, in `mountinfo` format; what this process sees by default.
  package init(fstab: BytePath = "/etc/fstab", mounts: BytePath = "/proc/self/mountinfo") {
    self.fstab = fstab
    self.mounts = mounts
  }

  /// Returns the configured mount point at or above a path, if nothing is mounted there.
  ///
  /// Of several, the nearest counts: its mount hides all above it.
  ///
  /// - Parameter path: an absolute path; its existing part is resolved.
  package func missingMount(above path: BytePath) throws(FileError) -> BytePath? {
    let resolved = Self.resolved(path)
    var nearest: BytePath?
    for point in try configured() {
      guard point == resolved || resolved.relative(to: point) != nil else { continue }
      if point.bytes.count > nearest?.bytes.count ?? 0 { nearest = point }
    }
    guard let nearest, try !mounted().contains(nearest) else { return nil }
    return nearest
  }

  /// The configured mount points, with links resolved.
  private func configured() throws(FileError) -> [BytePath] {
    try Self.lines(of: fstab).compactMap { fields in
      guard fields.count > 1, fields[0].bytes.first != UInt8(ascii: "#"), fields[1].isAbsolute
      else { return nil }
      return Self.resolved(fields[1].normalized)
    }
  }

  private func mounted() throws(FileError) -> Set<BytePath> {
    Set(try Self.lines(of: mounts).compactMap { $0.count > 4 ? $0[4] : nil })
  }

  /// Returns where the first file system of a type, such as `cgroup2`, is mounted.
  package func firstMount(ofType type: BytePath) throws(FileError) -> BytePath? {
    for fields in try Self.lines(of: mounts) where fields.count > 4 {
      // A variable number of optional fields precedes the dash.
      guard let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { continue }
      if fields[dash + 1] == type { return fields[4] }
    }
    return nil
  }

  /// The path with links resolved as far as it exists.
  private static func resolved(_ path: BytePath) -> BytePath {
    var (known, rest) = (path, BytePath(bytes: []))
    while !known.isEmpty {
      // An unresolvable part is kept as written.
      if let real = try? FileSystem.realPath(of: known) { return real.appending(rest) }
      rest = rest.isEmpty ? known.lastComponent : known.lastComponent.appending(rest)
      if known.parent == known { break }
      known = known.parent
    }
    return path
  }

  /// The fields of each line; none without the file, as in most containers.
  private static func lines(of file: BytePath) throws(FileError) -> [[BytePath]] {
    let bytes = try ifThere { () throws(FileError) in
      try Descriptor.openFolder(file.parent).readFile(file.lastComponent)
    }
    return (bytes ?? []).split(separator: UInt8(ascii: "\n")).map { line in
      line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map(unescaped)
    }
  }

  /// A field with its octal escapes decoded: `\040` is a space. Source: getmntent(3).
  private static func unescaped(_ field: ArraySlice<UInt8>) -> BytePath {
    var bytes: [UInt8] = []
    var rest = field
    while let first = rest.popFirst() {
      let digits = rest.prefix(3)
      guard first == UInt8(ascii: "\\"), digits.count == 3,
        digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) })
      else {
        bytes.append(first)
        continue
      }
      bytes.append(digits.reduce(0) { ($0 << 3) | ($1 & 7) })
      rest = rest.dropFirst(3)
    }
    return BytePath(bytes: bytes)
  }
}

extension FileSystem {
  /// Returns the topmost folder above a path that is on the same file system.
  ///
  /// Compares device numbers, so that a folder bind-mounted within its own file system, as systemd
  /// does for a service, is no mount point.
  ///
  /// - Parameter path: an absolute path without links.
  package static func mountPoint(of path: BytePath) throws(FileError) -> BytePath {
    let device = try device(of: path)
    var point = path
    while point != point.parent, try Self.device(of: point.parent) == device {
      point = point.parent
    }
    return point
  }
}
