import Dispatch
import Files
import Fixtures
import Glibc
import PipelineModel
import Synchronization
import Testing

@Suite("Events of descriptors", .timeLimit(.minutes(1)))
struct DescriptorEventsTests {
  private let queue = DispatchQueue(label: "test")
  private let told = Told()

  /// Counts what it is told, for who waits for it.
  private final class Told: Sendable {
    private let arrived = DispatchSemaphore(value: 0)
    private let count = Atomic(0)

    var times: Int { count.load(ordering: .sequentiallyConsistent) }

    func tell() {
      count.add(1, ordering: .sequentiallyConsistent)
      arrived.signal()
    }

    func wait() { #expect(arrived.wait(timeout: .now() + 20) == .success) }
  }

  /// Takes what is in a pipe, and says whether there may be more.
  private func drain(_ descriptor: Descriptor) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) {
      (try? descriptor.read(into: $0)) ?? 0 > 0
    }
  }

  @Test("Each arrival is told until the end is, and then no more")
  func untilTheEnd() throws {
    let pipe = try PipeEnds("pipe")
    let (reading, told) = (pipe.reading, told)
    var writing: Descriptor? = pipe.writing
    DescriptorEvents.shared.read(reading, on: queue) {
      defer { told.tell() }
      return drain(reading)
    }
    for count in 1...3 {
      try writing?.write([1])
      told.wait()
      #expect(told.times == count)
    }
    close(try #require(writing).number)
    writing = nil
    told.wait()
    usleep(50_000)
    #expect(told.times == 4)
  }

  @Test("One that is forgotten is not told, and its descriptor is let go of")
  func forget() throws {
    weak var reading: Descriptor?
    let told = told
    let writing: Descriptor
    do {
      let pipe = try PipeEnds("pipe")
      (reading, writing) = (pipe.reading, pipe.writing)
      let registration = DescriptorEvents.shared.read(pipe.reading, on: queue) {
        told.tell()
        return true
      }
      DescriptorEvents.shared.forget(registration)
      try writing.write([1])
      usleep(50_000)
    }
    #expect(told.times == 0)
    #expect(reading == nil)
  }

  @Test("One that is forgotten while it is told is not told again")
  func forgetMeanwhile() throws {
    let pipe = try PipeEnds("pipe")
    let (told, isForgotten) = (told, DispatchSemaphore(value: 0))
    let registration = DescriptorEvents.shared.read(pipe.reading, on: queue) {
      told.tell()
      isForgotten.wait()
      // Nothing is read, so that there would be more to tell.
      return true
    }
    try pipe.writing.write([1])
    told.wait()
    DescriptorEvents.shared.forget(registration)
    isForgotten.signal()
    usleep(50_000)
    queue.sync {}
    #expect(told.times == 1)
  }

  @Test("What the kernel can't watch is told all the same, and can be forgotten")
  func regularFile() throws {
    let folder = try TemporaryFolder()
    let root = try Descriptor.openFolder(folder.path)
    try root.writeDurably([1], as: "file")
    let told = told
    let registration = DescriptorEvents.shared.read(
      try Descriptor.open("file", in: root, flags: O_RDONLY), on: queue
    ) {
      told.tell()
      return true
    }
    for _ in 1...3 { told.wait() }
    DescriptorEvents.shared.forget(registration)
    queue.sync {}
    let times = told.times
    usleep(50_000)
    #expect(told.times == times)
  }
}
