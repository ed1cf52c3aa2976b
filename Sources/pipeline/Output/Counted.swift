/// A number and a noun in the singular or plural: `1 job`, `2 jobs`.
func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}
