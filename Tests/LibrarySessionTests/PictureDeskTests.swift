import Dispatch
import Files
import Foundation
import PipelineModel
import Synchronization
import Testing

@testable import LibrarySession

/// How `serve` talks to the process that answers HTTP, and where it works.
@Suite("Pictures for servers", .timeLimit(.minutes(1)))
struct PictureDeskTests {
  @Test("Bytes that follow a line are read, wherever the parts that come begin and end")
  func bytes() throws {
    for size in [1, 3, 1000] {
      let pipe = try PipeEnds("a pipe")
      let reader = LineReader(pipe.reading, limit: 1000, chunk: size)
      let picture = (0..<5000).map { UInt8($0 % 251) }
      try pipe.writing.write(Array("first\n".utf8) + picture + Array("second\nthird\n".utf8))
      #expect(try reader.next() == Array("first".utf8))
      #expect(try reader.bytes(5000) == picture)
      #expect(try reader.bytes(0) == [])
      #expect(try reader.next() == Array("second".utf8))
      #expect(try reader.next() == Array("third".utf8))
      try pipe.writing.write([1, 2, 3])
      #expect(try reader.bytes(2) == [1, 2])
    }
  }

  @Test("Bytes that do not come to their end are none")
  func cut() throws {
    var pipe: PipeEnds? = try PipeEnds("a pipe")
    let reader = LineReader(try #require(pipe?.reading), limit: 1000)
    try pipe?.writing.write(Array("a\nbcd".utf8))
    pipe = nil
    #expect(try reader.next() == Array("a".utf8))
    #expect(try reader.bytes(4) == nil)
  }

  @Test("Work is done in its order by so many threads, and only so much may wait")
  func lane() throws {
    let lane = try WorkLane(width: 2, mostWaiting: 3)
    let gate = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    let order = Mutex<[Int]>([])
    let accepted = (0..<9).map { number in
      lane.submit {
        gate.wait()
        order.withLock { $0.append(number) }
        done.signal()
      }
    }
    // Two that are being done, and three that wait.
    #expect(accepted == [true, true, true, true, true, false, false, false, false])
    for count in 1...5 {
      gate.signal()
      done.wait()
      #expect(order.withLock { $0.count } == count)
    }
    #expect(order.withLock { Set($0) } == [0, 1, 2, 3, 4])
    #expect(order.withLock { Array($0.suffix(2)).max() } == 4)
    gate.signal()
    #expect(
      lane.submit {
        gate.wait(); done.signal()
      })
    done.wait()
  }

  @Test("Work that is taken back is not done, and makes room for other work")
  func withdrawn() throws {
    let lane = try WorkLane(width: 1, mostWaiting: 2)
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let done = Mutex<[Int]>([])
    func submit(_ number: Int) -> Bool {
      lane.submit(as: number) {
        begun.signal()
        gate.wait()
        done.withLock { $0.append(number) }
      }
    }
    #expect(submit(1))
    begun.wait()
    #expect(submit(2) && submit(3) && !submit(4))
    // What has been begun goes on.
    #expect(!lane.withdraw(1) && !lane.withdraw(4))
    #expect(lane.withdraw(2) && !lane.withdraw(2))
    #expect(submit(5) && !submit(6))
    for _ in 0..<2 {
      gate.signal()
      begun.wait()
    }
    #expect(done.withLock { $0 } == [1, 3])
    gate.signal()
    #expect(submit(7))
    begun.wait()
    #expect(done.withLock { $0 } == [1, 3, 5])
    gate.signal()
  }
}
