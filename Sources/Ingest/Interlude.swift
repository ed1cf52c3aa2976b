/// Other work of the thread that takes files, to be done between two groups.
package struct Interlude {
  /// Whether there is any; asked after each group.
  let isDue: () -> Bool
  /// Does it. What was taken so far is recorded.
  let run: () -> Void

  package init(isDue: @escaping () -> Bool, run: @escaping () -> Void) {
    self.isDue = isDue
    self.run = run
  }

  /// No other work, ever.
  package static var none: Interlude { Interlude(isDue: { false }, run: {}) }
}
