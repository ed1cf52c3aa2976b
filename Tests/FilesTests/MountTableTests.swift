import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@Suite("Mount points", .timeLimit(.minutes(1)))
struct MountTableTests {
  private let temporary: TemporaryFolder

  init() throws { temporary = try TemporaryFolder() }

  private func table(_ fstab: String, _ mounts: String = "") throws -> MountTable {
    let folder = try Descriptor.openFolder(temporary.path)
    try folder.writeDurably(Array(fstab.utf8), as: "fstab")
    try folder.writeDurably(Array(mounts.utf8), as: "mountinfo")
    return MountTable(
      fstab: temporary.appending("fstab"), mounts: temporary.appending("mountinfo"))
  }

  @Test("The nearest mount point of the table counts, and whether it is mounted")
  func nearest() throws {
    let table = try table(
      """
      # <file system> <mount point>
      UUID=1 / ext4 defaults 0 1
      UUID=2\t/data\text4\tnofail\t0\t2
        /dev/sdc1   /data/photos/  btrfs subvol=a 0 0
      UUID=3 none swap sw 0 0
      #UUID=4 /home ext4 defaults 0 2
      broken
      """,
      """
      22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
      30 22 8:1 / /data/photos rw,relatime shared:2 - btrfs /dev/sdc1 rw
      """)
    #expect(try table.missingMount(above: "/data") == "/data")
    #expect(try table.missingMount(above: "/data/music/inbox") == "/data")
    #expect(try table.missingMount(above: "/data/photos") == nil)
    #expect(try table.missingMount(above: "/data/photos/inbox") == nil)
    #expect(try table.missingMount(above: "/database") == nil)
    #expect(try table.missingMount(above: "/home/me/inbox") == nil)
  }

  @Test("Octal escapes are resolved on both sides")
  func escapes() throws {
    let fstab = #"UUID=1 /mnt/my\040disk\134x ext4 defaults 0 2"#
    let other = #"22 1 254:1 / / rw - ext4 /dev/vda1 rw"#
    let mount = #"30 22 8:1 / /mnt/my\040disk\134x rw - ext4 /dev/sdb1 rw"#
    let path = BytePath(#"/mnt/my disk\x/photos"#)
    #expect(try table(fstab, other).missingMount(above: path) == #"/mnt/my disk\x"#)
    #expect(try table(fstab, "\(other)\n\(mount)\n").missingMount(above: path) == nil)
  }

  @Test("Links are followed, in the path and in the table")
  func links() throws {
    let folder = try Descriptor.openFolder(temporary.path)
    try folder.makeFolder("disk")
    let real = try FileSystem.realPath(of: temporary.path)
    let link = temporary.appending("link")
    try #require(symlink("\(real)/disk", "\(link)") == 0)
    let table = try table("UUID=1 \(link) ext4 defaults 0 2\n")
    #expect(try table.missingMount(above: link.appending("new/library")) == real.appending("disk"))
    #expect(try table.missingMount(above: real.appending("disk")) == real.appending("disk"))
    #expect(try table.missingMount(above: real) == nil)
  }

  @Test("A machine without a table asks for nothing; its own table asks for nothing of /proc")
  func noTable() throws {
    let table = MountTable(fstab: temporary.appending("none"))
    #expect(try table.missingMount(above: "/data") == nil)
    #expect(try MountTable().missingMount(above: "/proc/self") == nil)
  }

  @Test("The mount point of a path is the topmost folder on its file system")
  func mountPoint() throws {
    #expect(try FileSystem.mountPoint(of: "/proc/sys/kernel") == "/proc")
    #expect(try FileSystem.mountPoint(of: "/") == "/")
    #expect(throws: FileError.self) { try FileSystem.mountPoint(of: "/proc/none at all") }
  }
}
