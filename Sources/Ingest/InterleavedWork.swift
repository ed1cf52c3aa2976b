/// Other work of the importing thread, done between two groups.
package struct InterleavedWork {
  /// Whether there is any; called after each group.
  let isDue: () -> Bool
  /// Does the work. All imports so far are recorded.
  ///
  /// Throws if nothing more may be imported until the library is recovered.
  let run: () throws(IngestError) -> Void

  package init(
    isDue: @escaping () -> Bool, run: @escaping () throws(IngestError) -> Void
  ) {
    self.isDue = isDue
    self.run = run
  }

  /// No other work.
  package static var none: InterleavedWork { InterleavedWork(isDue: { false }, run: {}) }
}
