/// A name stem that ends in the number of a picture, such as `DCIM/DSC_0042`.
struct NumberedStem: Hashable {
  private let prefix: [UInt8]
  private let number: Int
  /// How many digits there are, with zeros in front.
  private let width: Int

  /// - Returns: `nil` if the stem does not end in three to eight digits.
  init?(_ stem: NameStem) {
    let digits = stem.path.reversed().prefix { (48...57).contains($0) }.reversed()
    guard (3...8).contains(digits.count) else { return nil }
    prefix = stem.path.dropLast(digits.count)
    number = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    width = digits.count
  }

  /// The stem of a picture before or after this one; `nil` if numbers begin anew there.
  func stem(_ offset: Int) -> NameStem? {
    let digits = Array("\(number + offset)".utf8)
    guard number + offset >= 0, digits.count <= width else { return nil }
    return NameStem(prefix + [UInt8](repeating: 48, count: width - digits.count) + digits)
  }
}
