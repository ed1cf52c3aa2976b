import Files
import Glibc
import PipelineModel

/// Being told who has a file open for writing. Source: fcntl(2), “Leases”.
struct LeaseTrial: FileSystemTrial {
  let name = "read leases"

  func run(in folder: Descriptor) throws(FileError) -> Finding {
    let writer = try make("written", "written", in: folder)
    let lease = try withExtendedLifetime(writer) { () throws(FileError) in
      try Descriptor.open("written", in: folder, flags: O_RDONLY).takeLease()
    }
    guard lease == .refused else {
      return Finding(
        name, .warning,
        "Nobody says here whether a file is open for writing: leases are "
          + "\(lease == .granted ? "given in spite of it" : "not available").",
        advice: "Files in such a source are taken for complete once they were quiet: let "
          + "\"settle\" be longer than the pauses of those who write them.")
    }
    // Nobody has this one open for writing.
    try make("quiet", "quiet", in: folder)
    let reader = try Descriptor.open("quiet", in: folder, flags: O_RDONLY)
    guard reader.takeLease() == .granted, reader.holdsLease else {
      return Finding(
        name, .warning, "A lease is refused although nobody has the file open for writing.",
        advice: "Files are copied rather than renamed; that takes longer and is as safe.")
    }
    return Finding(name, .ok, "It is known whether somebody has a file open for writing.")
  }
}
