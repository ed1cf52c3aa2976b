extension BytePath {
  /// The path as one word of a command for a shell, to be copied from a message.
  ///
  /// As it is where no byte has a meaning of its own, else in quotes. Bytes that no
  /// terminal shows are written as in `$'\xe9'`, which bash, ksh and zsh know.
  public var shellWord: String {
    let plain = Set("/-._~+:@%,0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    if !isEmpty, bytes.first != UInt8(ascii: "~"), bytes.allSatisfy(plain.contains) {
      return description
    }
    if utf8 != nil, printable == description {
      let pieces = description.split(separator: "'", omittingEmptySubsequences: false)
      return "'\(pieces.joined(separator: #"'\''"#))'"
    }
    let escaped = bytes.map { byte in
      plain.contains(byte) ? String(UnicodeScalar(byte)) : "\\x" + Hexadecimal.encode([byte])
    }
    return "$'\(escaped.joined())'"
  }
}
