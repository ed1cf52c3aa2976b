// Stores files in a bucket, or gets them from it, by `BucketStore` alone: nothing is copied first, flushed or recorded.
//
// usage: bucket-probe put URI SCRATCH FILE…
//        bucket-probe get URI SCRATCH FOLDER FILE…
//   put  hashes the files, and stores them
//   get  hashes the files, which `put` has stored, and gets their bytes into new files of the same names in the folder
//
// SCRATCH is an empty folder for local copies, which are not kept. The server and its credentials are in the environment,
// as for any program. Prints "ready" once the files are hashed and the place is this library's, waits for a line on
// standard input, and then works; prints {"seconds": …}.

import Files
import Foundation
import Hashing
import ObjectStorage
import Originals
import PipelineModel

struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

struct Probe {
  private let store: BucketStore
  private let files: [IncomingOriginal]

  init(_ location: BucketLocation, scratch: BytePath, files paths: [BytePath]) throws {
    let bucket = OwnedBucket(
      location, for: "originals", identity: "00000000-0000-7000-8000-000000000001",
      mayClaim: true, environment: ProcessInfo.processInfo.environment, isStopped: { false })
    store = BucketStore(bucket, library: try .openFolder(scratch), cacheBudget: 0)
    try store.check()
    let folder = try Descriptor.openFolder(".")
    files = try paths.map { path in
      let digest = try Descriptor.openRegular(path, in: folder).hash().digest
      return IncomingOriginal(folder: folder, name: path, digest: digest)
    }
  }

  func put() throws {
    guard try store.put(files).allSatisfy({ $0 == .stored }) else {
      throw Failure("Not all files could be stored, or some were there.")
    }
  }

  func get(into folder: Descriptor) throws {
    let digests = files.map(width: store.readsAtOnce) { [store] file in
      Result { () throws(FileError) in
        let copy = try Descriptor.open(
          file.name.lastComponent, in: folder, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        return try store.copy(file.digest, to: copy, isStopped: { false })
      }
    }
    guard try digests.map({ try $0.get() }) == files.map(\.digest) else {
      throw Failure("Other bytes were got.")
    }
  }

  /// Says that it is ready, waits until it may begin, and says how long it took.
  static func measure(_ body: () throws -> Void) throws {
    try FileHandle.standardOutput.write(contentsOf: Data("ready\n".utf8))
    guard readLine() != nil else { throw Failure("Nobody waits for this.") }
    let start = ContinuousClock.now
    try body()
    print(#"{"seconds": \#((ContinuousClock.now - start) / .seconds(1))}"#)
  }
}

let arguments = CommandLine.arguments
do {
  guard arguments.count > 5 || arguments.count == 5 && arguments[1] == "put" else {
    throw Failure("usage: bucket-probe put URI SCRATCH FILE… | get URI SCRATCH FOLDER FILE…")
  }
  guard ["put", "get"].contains(arguments[1]) else {
    throw Failure("There is no “\(arguments[1])”.")
  }
  let isGet = arguments[1] == "get"
  let paths = arguments.dropFirst(isGet ? 5 : 4).map { BytePath($0) }
  let probe = try Probe(
    BucketLocation(arguments[2]), scratch: BytePath(arguments[3]), files: paths)
  if isGet {
    let folder = try Descriptor.openFolder(BytePath(arguments[4]))
    try Probe.measure { try probe.get(into: folder) }
  } else {
    try Probe.measure(probe.put)
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
