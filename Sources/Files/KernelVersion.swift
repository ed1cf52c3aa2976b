import Glibc

struct KernelVersion: Comparable {
  let major: Int
  let minor: Int

  init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Parses a release such as `6.1.0-18-amd64`; anything else counts as 0.0.
  init(release: String) {
    let numbers = release.split(separator: ".", maxSplits: 2).map { part in
      Int(part.prefix { $0.isNumber && $0.isASCII }) ?? 0
    }
    self.init(numbers.first ?? 0, numbers.dropFirst().first ?? 0)
  }

  /// The running kernel's. Source: uname(2).
  static let current: KernelVersion = {
    var name = utsname()
    guard uname(&name) == 0 else { return KernelVersion(0, 0) }
    let release = withUnsafeBytes(of: name.release) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return KernelVersion(release: release)
  }()

  static func < (left: KernelVersion, right: KernelVersion) -> Bool {
    (left.major, left.minor) < (right.major, right.minor)
  }
}
