package import Foundation

/// The sources that the tests were built from.
package enum Checkout {
  /// The package's folder, three above this file.
  package static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// What a file contains, by its path from the package's folder on.
  package static func bytes(of path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: root.appending(path: path)))
  }
}
