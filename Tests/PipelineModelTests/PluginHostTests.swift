import CPipelinePlugin
import Testing

@testable import PipelinePlugin

@Suite("The program as a plugin sees it")
struct PluginHostTests {
  /// What a plugin's wish for a limit of processor time arrives as, with a table of some size.
  private func wish(tableOf size: Int) -> Double? {
    var wished = -1.0
    withUnsafeMutablePointer(to: &wished) { wished in
      var table = pipeline_host()
      table.abi = UInt32(PIPELINE_PLUGIN_ABI)
      table.struct_size = UInt32(size)
      table.limit_cpu = { job, seconds in
        job?.assumingMemoryBound(to: Double.self).pointee = seconds
      }
      withUnsafePointer(to: table) { table in
        PluginHost(table: table, job: wished).limitCPU(seconds: 2)
      }
    }
    return wished < 0 ? nil : wished
  }

  @Test("A function that an older program's table does not have is not called")
  func olderTable() throws {
    let older = try #require(MemoryLayout<pipeline_host>.offset(of: \.limit_cpu))
    #expect(wish(tableOf: older) == nil)
    #expect(wish(tableOf: MemoryLayout<pipeline_host>.size) == 2)
  }

  @Test("Outside of a job nothing is there to be asked")
  func noTable() {
    let host = PluginHost(table: nil, job: nil)
    host.limitCPU(seconds: 2)
    host.log(.info, "Nobody hears it.")
    #expect(!host.isCancelled)
  }
}
