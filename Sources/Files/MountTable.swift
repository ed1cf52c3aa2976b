package import PipelineModel

/// Where file systems ought to be mounted, and where they are. Source: fstab(5), proc(5).
package struct MountTable: Sendable {
  private let fstab: BytePath
  private let mounts: BytePath

  /// Makes it.
  ///
  /// - Parameters:
  ///   - fstab: what ought to be mounted; by default the machine's own table.
  ///   - mounts: what is, in the form of `mountinfo`; by default what this process sees.
  package init(fstab: BytePath = "/etc/fstab", mounts: BytePath = "/proc/self/mountinfo") {
    self.fstab = fstab
    self.mounts = mounts
  }

  /// Returns the mount point of the table that a path is on or below, if nothing is mounted there.
  ///
  /// Where several are above the path, the nearest one counts: what is mounted
  /// there hides all that is above it.
  ///
  /// - Parameter path: an absolute path; what exists of it is resolved.
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

  /// The mount points of the table, links resolved.
  private func configured() throws(FileError) -> [BytePath] {
    try Self.lines(of: fstab).compactMap { fields in
      guard fields.count > 1, fields[0].bytes.first != UInt8(ascii: "#"), fields[1].isAbsolute
      else { return nil }
      return Self.resolved(fields[1].normalized)
    }
  }

  /// The mount points of now.
  private func mounted() throws(FileError) -> Set<BytePath> {
    Set(try Self.lines(of: mounts).compactMap { $0.count > 4 ? $0[4] : nil })
  }

  /// Returns where the first file system of a type is mounted, as `cgroup2`.
  package func firstMount(ofType type: BytePath) throws(FileError) -> BytePath? {
    for fields in try Self.lines(of: mounts) where fields.count > 4 {
      // As many optional fields as the kernel likes are before the dash.
      guard let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { continue }
      if fields[dash + 1] == type { return fields[4] }
    }
    return nil
  }

  /// The path with links resolved as far as it exists.
  private static func resolved(_ path: BytePath) -> BytePath {
    var (known, rest) = (path, BytePath(bytes: []))
    while !known.isEmpty {
      // What can't be resolved is taken as it is written.
      if let real = try? FileSystem.realPath(of: known) { return real.appending(rest) }
      rest = rest.isEmpty ? known.lastComponent : known.lastComponent.appending(rest)
      if known.parent == known { break }
      known = known.parent
    }
    return path
  }

  /// The fields of each line; no lines where there is no such file, as in most containers.
  private static func lines(of file: BytePath) throws(FileError) -> [[BytePath]] {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try Descriptor.openFolder(file.parent).readFile(file.lastComponent)
    } catch let error where error.code == .notFound {
      return []
    }
    return bytes.split(separator: UInt8(ascii: "\n")).map { line in
      line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map(unescaped)
    }
  }

  /// A field with its octal escapes resolved: `\040` is a space. Source: getmntent(3).
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
  /// By the number of the device: a folder that is bound to another place of its
  /// own file system, as systemd does for a service, is no mount point by that.
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
