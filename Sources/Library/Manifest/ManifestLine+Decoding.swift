import FoundationEssentials
import Hashing
import PipelineModel

extension ManifestLine {
  /// Decodes a line without its newline; `nil` if it is torn or damaged.
  ///
  /// Hand-written: `JSONDecoder` takes 40 µs a line, minutes for a large library.
  static func decode(_ line: some Collection<UInt8>) -> ManifestLine? {
    var bytes = Array(line)
    let tail = checkPrefix.count + checkLength + checkSuffix.count
    guard bytes.count > tail else { return nil }
    let body = bytes.count - tail
    let check = Hexadecimal.encode(SHA256.digest(of: bytes[..<body]).bytes.prefix(checkLength / 2))
    guard bytes[body...].elementsEqual(checkPrefix + Array(check.utf8) + checkSuffix) else {
      return nil
    }
    bytes.removeLast(tail)
    bytes.append(UInt8(ascii: "}"))
    // The checksum is right, so some version of the program wrote this; it may still be malformed.
    return ManifestLine(json: bytes)
  }

  private enum Key: String, CaseIterable {
    case action, asset, batch, changed, digest, fact, inode, modified, moves, path, pathBase64
    case permissions, property, reason, run, seq, size, source, sourceBase64, supersedes, taking
    case text, time, until
  }

  /// A switch over strings compares a key with half of them.
  private static let keys = Dictionary(uniqueKeysWithValues: Key.allCases.map { ($0.rawValue, $0) })

  /// Decodes an object; `nil` if a member that all facts have is missing, or one has a wrong type.
  private init?(json: [UInt8]) {
    self.init(fact: "", seq: 0, time: 0)
    var (fact, seq, time): (String?, Int64?, Int64?) = (nil, nil, nil)
    var isSound = true
    do throws(JSONError) {
      try JSONReader.readMembers(of: json) { key, value in
        let isTaken =
          switch Self.keys[key] {
          case .action: value.set(&action)
          case .asset: value.set(&asset)
          case .batch: value.set(&batch)
          case .changed: value.set(&changed)
          case .digest: value.set(&digest)
          case .fact: value.set(&fact)
          case .inode: value.set(&inode)
          case .modified: value.set(&modified)
          case .moves: value.set(&moves)
          case .path: value.set(&path)
          case .pathBase64: value.set(&pathBase64)
          case .permissions: value.set(&permissions)
          case .property: value.set(&property)
          case .reason: value.set(&reason)
          case .run: value.set(&run)
          case .seq: value.set(&seq)
          case .size: value.set(&size)
          case .source: value.set(&source)
          case .sourceBase64: value.set(&sourceBase64)
          case .supersedes: value.set(&supersedes)
          case .taking: value.set(&taking)
          case .text: value.set(&text)
          case .time: value.set(&time)
          case .until: value.set(&until)
          // A member that a later version added.
          case nil: true
          }
        if !isTaken { isSound = false }
      }
    } catch {
      return nil
    }
    guard isSound, let fact, let seq, let time else { return nil }
    self.fact = fact
    self.seq = seq
    self.time = time
  }
}

extension JSONMember {
  /// Sets a variable to a string; null leaves it unchanged. Returns `false` for other types.
  fileprivate func set(_ variable: inout String?) -> Bool {
    set(&variable) { if case .string(let text) = self { text } else { nil } }
  }

  fileprivate func set(_ variable: inout (some FixedWidthInteger)?) -> Bool {
    set(&variable) { number() }
  }

  fileprivate func set(_ variable: inout Bool?) -> Bool {
    set(&variable) { if case .other(.bool(let value)) = self { value } else { nil } }
  }

  fileprivate func set(_ variable: inout AssetID?) -> Bool {
    set(&variable) { if case .string(let text) = self { AssetID(text) } else { nil } }
  }

  fileprivate func set(_ variable: inout Digest?) -> Bool {
    set(&variable) { if case .string(let text) = self { Digest(text) } else { nil } }
  }

  fileprivate func set(_ variable: inout Data?) -> Bool {
    set(&variable) { if case .string(let text) = self { Data(base64Encoded: text) } else { nil } }
  }

  private func set<Value>(_ variable: inout Value?, _ read: () -> Value?) -> Bool {
    if case .other(.null) = self { return true }
    guard let value = read() else { return false }
    variable = value
    return true
  }

  private func number<Number: FixedWidthInteger>() -> Number? {
    switch self {
    case .whole(let magnitude, isNegative: false): Number(exactly: magnitude)
    case .whole(let magnitude, isNegative: true):
      Int64(exactly: magnitude).flatMap { Number(exactly: -$0) }
        ?? (magnitude == Int64.min.magnitude ? Number(exactly: Int64.min) : nil)
    case .string, .other: nil
    }
  }
}
