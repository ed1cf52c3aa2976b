import Files
import Glibc
import PipelineModel

/// Read leases, which reveal whether a file is open for writing. Source: fcntl(2), “Leases”.
struct LeaseTrial: FileSystemTrial {
  let name = "read leases"

  func run(in folder: Descriptor) throws(FileError) -> Finding {
    let writer = try make("written", "written", in: folder)
    let lease = try withExtendedLifetime(writer) { () throws(FileError) in
      try Descriptor.open("written", in: folder, flags: O_RDONLY).acquireLease()
    }
    guard lease == .refused else {
      return Finding(
        name, .warning,
        "Whether a file is open for writing can't be detected here: leases are "
          + "\(lease == .granted ? "granted all the same" : "not available").",
        advice: "Files in such a source count as complete once they are quiet: set "
          + "\"settle\" to more than the longest pause of the programs that write them.")
    }
    try make("quiet", "quiet", in: folder)
    let reader = try Descriptor.open("quiet", in: folder, flags: O_RDONLY)
    guard reader.acquireLease() == .granted, reader.holdsLease else {
      return Finding(
        name, .warning, "A lease is refused although nobody has the file open for writing.",
        advice: "Files are copied rather than renamed, which takes longer but is as safe.")
    }
    return Finding(name, .ok, "Files open for writing are detected.")
  }
}
