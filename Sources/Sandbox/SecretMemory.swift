internal import CSandbox
import Glibc

/// A path, its arguments and its environment at addresses that nobody can guess.
///
/// A system call filter sees addresses, not their contents. Once the program has been replaced, its
/// memory is gone and nobody knows the addresses, so the filter can allow this one call and no
/// later one.
struct SecretMemory {
  /// The path, and the null-terminated lists of arguments and environment variables.
  let path: UnsafeMutableRawPointer
  let arguments: UnsafeMutableRawPointer
  let environment: UnsafeMutableRawPointer

  /// Copies the arguments of execve(2) to secret addresses.
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

  /// Copies bytes to a random address: a random page, and a random offset in it.
  private static func copy(_ bytes: [UInt8]) throws(SandboxError) -> UnsafeMutableRawPointer {
    let page = Int(getpagesize())
    // Swift's random numbers come from the kernel and suit secrets. Multiples of eight, to align
    // the lists of addresses.
    let offset = Int.random(in: 0..<page / 8) * 8
    let size = offset + bytes.count
    // Some processors have shorter addresses; all supported ones have memory below 2^38.
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
    throw SandboxError(.system, "No memory could be reserved to start a program from.")
  }
}
