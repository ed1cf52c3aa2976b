internal import CSandbox
import Glibc

/// A path, its arguments and its environment in memory at addresses that nobody can guess.
///
/// A filter of system calls sees addresses, not what is there. When the program has
/// been replaced its memory is gone, and the addresses are known to nobody: so the
/// filter lets this one call through, and no later one.
struct SecretMemory {
  /// The path, the null-terminated list of arguments, and that of the environment.
  let path: UnsafeMutableRawPointer
  let arguments: UnsafeMutableRawPointer
  let environment: UnsafeMutableRawPointer

  /// Copies what execve(2) takes to secret places.
  init(
    path: [UInt8], arguments: [[UInt8]], environment: [[UInt8]]
  ) throws(SandboxError) {
    self.path = try Self.copy(path + [0])
    self.arguments = try Self.list(arguments)
    self.environment = try Self.list(environment)
  }

  private static func list(_ texts: [[UInt8]]) throws(SandboxError) -> UnsafeMutableRawPointer {
    var addresses: [UInt] = []
    for text in texts { addresses.append(UInt(bitPattern: try copy(text + [0]))) }
    return try copy((addresses + [0]).withUnsafeBytes { Array($0) })
  }

  /// Copies bytes to a random address: a random page, and a random place in it.
  private static func copy(_ bytes: [UInt8]) throws(SandboxError) -> UnsafeMutableRawPointer {
    let page = Int(getpagesize())
    // Swift's own random numbers are the kernel's, as good as secrets need them.
    // Multiples of a pointer's size, so that lists of addresses lie as they should.
    let offset = Int.random(in: 0..<page / 8) * 8
    let size = offset + bytes.count
    // Some processors have fewer bits for addresses; below 2^38 all of ours have memory.
    for bits in [46, 46, 46, 46, 38, 38, 38, 38] {
      let place = UInt.random(in: 1..<1 << bits) / UInt(page) * UInt(page)
      let memory = mmap(
        UnsafeMutableRawPointer(bitPattern: place), size, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | Int32(pipeline_map_fixed), -1, 0)
      guard let memory, memory != MAP_FAILED else { continue }
      // A kernel that does not know the flag takes the address as a hint.
      guard UInt(bitPattern: memory) == place else {
        munmap(memory, size)
        continue
      }
      let start = memory + offset
      UnsafeMutableRawBufferPointer(start: start, count: bytes.count).copyBytes(from: bytes)
      return start
    }
    throw SandboxError(.system, "There is no memory to start a program from.")
  }
}
