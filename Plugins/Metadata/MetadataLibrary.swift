import CGexiv2
import PipelinePlugin
import Synchronization

/// This process's gexiv2, used by one thread at a time.
///
/// Exiv2's XMP parser has a process-wide namespace table that reading a file modifies without a
/// lock (exiv2#3011, exiv2#3448), and the log handler has no context argument. So each file is
/// opened, read and closed under one lock.
enum MetadataLibrary {
  /// The library's messages while one file is read.
  struct Log {
    /// The first error messages, in order.
    fileprivate(set) var errors: [String] = []
  }

  /// Nobody else calls the library, so this lock protects it.
  private static let lock = Mutex<Void>(())
  private static let log = Mutex<Log>(Log())

  private static let isStarted: Bool = {
    // Initialization is not thread-safe. Source: `gexiv2_initialize`.
    guard gexiv2_initialize() != 0 else { return false }
    // By default, messages go to standard error; warnings are mostly about makers' notes.
    gexiv2_log_set_level(GEXIV2_LOG_LEVEL_ERROR)
    gexiv2_log_set_handler { _, text in
      guard let text else { return }
      let message = String(cString: text)
      MetadataLibrary.log.withLock { log in
        if log.errors.count < 8 { log.errors.append(String(message.prefix(300))) }
      }
    }
    return true
  }()

  /// Starts the library, once per process.
  static func start() throws(PluginFailure) {
    guard isStarted else {
      throw PluginFailure(.environment, "The library gexiv2 can't be started.")
    }
  }

  /// The versions of both libraries, such as `exiv2 0.27.6, gexiv2 0.14.0`.
  static var runtime: String {
    let number = Int(gexiv2_get_version())
    let wrapper = "gexiv2 \(number / 10_000).\(number / 100 % 100).\(number % 100)"
    return pipeline_exiv2_version().map { "exiv2 \(String(cString: $0)), \(wrapper)" } ?? wrapper
  }

  /// Calls a body with exclusive use of the library.
  ///
  /// - Parameter body: receives a function that returns the errors logged so far.
  static func use<Value>(_ body: (_ errors: () -> [String]) -> Value) -> Value {
    lock.withLock { _ in
      log.withLock { $0 = Log() }
      return body({ log.withLock { $0.errors } })
    }
  }
}
