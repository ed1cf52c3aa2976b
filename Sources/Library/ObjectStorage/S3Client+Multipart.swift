package import Files
import Glibc
import Hashing
package import PipelineModel

extension S3Client {
  /// Files up to this size go in one request, in bytes.
  package static let greatestSinglePut = 64 << 20
  /// The size of a part, in bytes; more for files of more than 10,000 such parts.
  private static let partSize = 16 << 20
  private static let mostParts = 10_000

  /// Stores a file of any size under its digest, which is compared with the bytes that are sent.
  ///
  /// - Parameters:
  ///   - size: the file's size in bytes.
  ///   - isNew: whether an object that is there must stay.
  /// - Returns: whether it was stored; `false` if an object is there and `isNew`.
  /// - Throws: `FileError` of code `changed` if the bytes are not those of the digest; nothing is
  ///   stored then.
  package func put(
    _ file: Descriptor, size: Int, as key: String, digest: Digest, isNew: Bool
  ) throws(FileError) -> Bool {
    if size <= Self.greatestSinglePut {
      return try put(
        .file(file, offset: 0, count: size), as: key, digest: digest, isNew: isNew)
    }
    // Not all servers have conditions for the end of an upload in parts. Whoever was faster stored the
    // same bytes.
    if isNew, try self.size(of: key) != nil { return false }
    let upload = try begin(key)
    do throws(FileError) {
      try send(file, size: size, as: key, digest: digest, upload)
    } catch {
      // The store keeps the parts of an upload for ever; what can't be ended now is ended by `abandon`.
      try? abort(key, upload)
      throw error
    }
    guard try self.size(of: key) == size else {
      throw FileError(
        .unavailable, "The store \(server) has another size for “\(key)” than was sent.",
        path: BytePath(key))
    }
    return true
  }

  private func begin(_ key: String) throws(FileError) -> String {
    let root = "InitiateMultipartUploadResult"
    let document = try document("POST", key: key, query: ["uploads": ""], root: root)
    guard let upload = document.text("\(root)/UploadId"), !upload.isEmpty else {
      throw FileError(.unavailable, "The store \(server) begins no upload.", path: BytePath(key))
    }
    return upload
  }

  private func send(
    _ file: Descriptor, size: Int, as key: String, digest: Digest, _ upload: String
  ) throws(FileError) {
    let partSize = max(Self.partSize, size / (Self.mostParts - 1) + 1)
    let whole = SHA256()
    var tags: [String] = []
    var offset = 0
    while offset < size {
      let count = min(partSize, size - offset)
      let part = SHA256()
      try file.forEachChunk(from: offset, count: count) { chunk throws(FileError) in
        part.update(chunk)
        whole.update(chunk)
      }
      let response: HTTPResponse
      do {
        response = try send(
          "PUT", key: key, query: ["partNumber": "\(tags.count + 1)", "uploadId": upload],
          .file(file, offset: offset, count: count), payload: part.finalize())
      } catch {
        throw fileError(error, key)
      }
      guard let tag = response.headers["etag"] else {
        throw FileError(.unavailable, "The store \(server) gives no ETag.", path: BytePath(key))
      }
      tags.append(tag)
      offset += count
    }
    guard whole.finalize() == digest else {
      throw FileError(
        .changed, "“\(file.path.printable)” changed while it was being stored.", path: file.path)
    }
    let parts = tags.enumerated().map { index, tag in
      "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(Self.escaped(tag))</ETag></Part>"
    }
    let list = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
    do {
      let response = try send(
        "POST", key: key, query: ["uploadId": upload], .bytes(Array(list.utf8)), isSlow: true)
      _ = try document(response, root: "CompleteMultipartUploadResult")
    } catch let error as S3Error where error.code == "NoSuchUpload" {
      // It was completed before if the answer to that was lost.
      guard try isStored(key, size: size, digest: digest) else { throw fileError(error, key) }
    } catch {
      throw fileError(error, key)
    }
  }

  /// Whether the bytes of a digest have a name. They are read, for others of the same size may have been
  /// there before.
  private func isStored(_ key: String, size: Int, digest: Digest) throws(FileError) -> Bool {
    guard try self.size(of: key) == size else { return false }
    let hash = SHA256()
    try get(key, limit: size) { piece throws(FileError) in hash.update(piece) }
    return hash.finalize() == digest
  }

  private func abort(_ key: String, _ upload: String) throws(FileError) {
    do {
      _ = try send("DELETE", key: key, query: ["uploadId": upload])
    } catch let error as S3Error where error.status == 404 {
      return
    } catch {
      throw fileError(error, key)
    }
  }

  /// Ends all uploads below a prefix that nobody completed: those of processes that were killed.
  ///
  /// - Returns: how many there were.
  package func abandonUploads(below prefix: String) throws(FileError) -> Int {
    var count = 0
    var query = ["uploads": "", "prefix": object(of: prefix)]
    var markers: Set<[String]> = []
    while true {
      let root = "ListMultipartUploadsResult"
      let document = try document("GET", query: query, root: root)
      let uploads = document.groups("\(root)/Upload")
      for entry in uploads {
        guard let key = entry["Key"].flatMap(key(ofObject:)), let upload = entry["UploadId"] else {
          continue
        }
        try abort(key, upload)
        count += 1
      }
      guard document.text("\(root)/IsTruncated") == "true" else { return count }
      // A server that gives the same page again would be asked for ever.
      guard let key = document.text("\(root)/NextKeyMarker"), !key.isEmpty,
        !key.precedes(query["key-marker"] ?? ""),
        markers.insert([key, document.text("\(root)/NextUploadIdMarker") ?? ""]).inserted
      else { throw unexpected(of: "a listing of uploads") }
      query["key-marker"] = key
      query["upload-id-marker"] = document.text("\(root)/NextUploadIdMarker")
    }
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
    return result
  }
}
