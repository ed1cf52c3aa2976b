package import Files
import PipelineModel

extension S3Client {
  /// No object is larger, in bytes: 64 TiB, more than any store allows.
  static let greatestObject = 1 << 46

  /// Reads an object, or a part of it.
  ///
  /// - Parameters:
  ///   - range: in bytes; by default all of them.
  ///   - limit: the most bytes that are expected.
  ///   - began: called once before the first byte, with the number of bytes to come.
  /// - Throws: `FileError` of code `notFound` if it is missing, `unavailable` if the store sends more
  ///   than `limit` bytes or others than those of the range, and what `began` and `body` throw.
  package func get(
    _ key: String, range: Range<Int>? = nil, limit: Int? = nil,
    began: ((Int) throws(FileError) -> Void)? = nil,
    _ body: @escaping (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    var most = min(limit ?? .max, range?.count ?? .max)
    var isBegun = false
    func begin(_ head: HTTPResponse) throws(FileError) {
      if isBegun { return }
      isBegun = true
      guard let began else { return }
      guard let size = head.headers["content-length"].flatMap({ Int($0) }),
        (0...Self.greatestObject).contains(size)
      else { throw bad("does not tell the size of", key) }
      most = min(most, size)
      try began(size)
    }
    var start = range?.lowerBound ?? 0
    let end = range?.upperBound
    var given = 0
    var left = policy.attempts
    var pause = policy.firstPause
    while end.map({ start < $0 }) ?? true {
      let place = start
      let isPart = range != nil || place > 0
      do {
        let response = try send(
          "GET", key: key,
          headers: isPart ? [("range", "bytes=\(place)-\(end.map { "\($0 - 1)" } ?? "")")] : []
        ) { [self] head, piece throws(FileError) in
          try require(head, isPart, of: key, from: place, to: end)
          try begin(head)
          guard piece.count <= most - given else {
            throw bad("sends more than \(most) bytes of", key)
          }
          try body(piece)
          given += piece.count
        }
        // No piece came of an empty body.
        try require(response, isPart, of: key, from: place, to: end)
        try begin(response)
        return
      } catch HTTPTransfer.Failure.connection(_, let received) where received > 0 && left > 1 {
        // Taken up where the connection was lost; a server that is started again needs a moment.
        start += received
        left -= 1
        try wait(for: pause * Double.random(in: 0.5...1))
        pause = min(pause * 2, policy.longestPause)
      } catch {
        throw fileError(error, key)
      }
    }
  }

  /// Returns an object's size in bytes; `nil` if it is missing.
  package func size(of key: String) throws(FileError) -> Int? { try look(at: key)?.size }

  /// Returns an object's size in bytes, and its ETag, which another object of that name does not have; `nil` if it is
  /// missing.
  package func look(at key: String) throws(FileError) -> (size: Int, tag: String?)? {
    // HEAD has no body that tells a missing object from a missing bucket.
    do {
      let response = try send("GET", key: key, headers: [("range", "bytes=0-0")]) {
        [self] head, _ throws(FileError) in try requirePart(head, of: key, from: 0, to: 1)
      }
      guard let total = try requirePart(response, of: key, from: 0, to: 1) else {
        throw bad("does not tell the size of", key)
      }
      return (total, response.headers["etag"])
    } catch let error as S3Error where error.isNoSuchKey {
      return nil
    } catch let error as S3Error where error.status == 416 {
      return (0, nil)
    } catch {
      throw fileError(error, key)
    }
  }

  /// Requires that an answer is an object, or the part of it that was asked for.
  private func require(
    _ response: HTTPResponse, _ isPart: Bool, of key: String, from start: Int, to end: Int?
  ) throws(FileError) {
    if isPart {
      try requirePart(response, of: key, from: start, to: end)
    } else if response.status != 200 || response.headers["etag"] == nil {
      // Whatever else answers, such as a network's login page, names no version of an object.
      throw bad("does not answer as S3 does to a request for", key)
    }
  }

  /// Requires that an answer is the part of an object that was asked for.
  ///
  /// A server that ignores ranges answers with the whole object.
  ///
  /// - Returns: the object's size, if it is told.
  @discardableResult
  private func requirePart(
    _ response: HTTPResponse, of key: String, from start: Int, to end: Int?
  ) throws(FileError) -> Int? {
    // As in “bytes 3-4/10”.
    let words = (response.headers["content-range"] ?? "").split(
      omittingEmptySubsequences: false
    ) { " -/".contains($0) }
    guard response.status == 206, words.count == 4, words[0].lowercased() == "bytes",
      let first = Int(words[1]), let last = Int(words[2])
    else { throw bad("does not answer requests for a part of", key) }
    let total = Int(words[3])
    let isTotal = total.map { last < $0 && $0 <= Self.greatestObject } ?? (words[3] == "*")
    let isLast = total.map { last == $0 - 1 } ?? false
    let isEnd = end.map { last == $0 - 1 || last < $0 && isLast } ?? isLast
    guard isTotal, isEnd, first == start, first <= last else {
      throw bad("answers with another part than was asked for of", key)
    }
    return total
  }

  private func bad(_ what: String, _ key: String) -> FileError {
    let path = BytePath("\(location.name)/\(key)")
    return FileError(.unavailable, "The store \(server) \(what) “\(path.printable)”.", path: path)
  }
}
