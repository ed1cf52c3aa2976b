/// A number and what is counted, in the singular where that is right: `1 job`, `2 jobs`.
func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}
