/// Other work of the thread that takes files, to be done between two groups.
package struct Interlude {
  /// Whether there is any; asked after each group.
  let isDue: () -> Bool
  /// Does it. What was taken so far is recorded.
  ///
  /// Throws where nothing more may be taken before the library was recovered.
  let run: () throws(IngestError) -> Void

  package init(
    isDue: @escaping () -> Bool, run: @escaping () throws(IngestError) -> Void
  ) {
    self.isDue = isDue
    self.run = run
  }

  /// No other work, ever.
  package static var none: Interlude { Interlude(isDue: { false }, run: {}) }
}
