import CLinux

/// The terminal that a process prints to.
package enum Terminal {
  /// The number of columns; `nil` if the descriptor is no terminal, or does not know.
  package static func width(of descriptor: Int32) -> Int? {
    let columns = pipeline_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
  }
}
