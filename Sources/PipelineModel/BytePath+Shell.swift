extension BytePath {
  /// The path as one shell word, for copying from a message.
  ///
  /// Unquoted if no byte is special to a shell, otherwise quoted. Unprintable bytes are written as
  /// in `$'\xe9'`, which bash, ksh and zsh understand.
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
