import CCurl
import Files
import Glibc
import PipelineModel

/// libcurl, opened when the first request is made.
///
/// Linked, it would cost every start of the program, and of its workers, some 6 ms and 25 libraries.
struct CurlLibrary: @unchecked Sendable {
  // Functions; libcurl may be used by any thread after its initialization.
  let setOption: UnsafeMutableRawPointer
  let getInfo: UnsafeMutableRawPointer
  let makeHandle: @convention(c) () -> UnsafeMutableRawPointer?
  let reset: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let perform: @convention(c) (UnsafeMutableRawPointer?) -> CURLcode
  let cleanUp: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let describe: @convention(c) (CURLcode) -> UnsafePointer<CChar>?
  let append:
    @convention(c) (UnsafeMutablePointer<curl_slist>?, UnsafePointer<CChar>?) ->
      UnsafeMutablePointer<curl_slist>?
  let freeList: @convention(c) (UnsafeMutablePointer<curl_slist>?) -> Void

  private let date: @convention(c) (UnsafePointer<CChar>?, UnsafePointer<time_t>?) -> time_t

  /// The library; the same error for each use if it can't be loaded.
  static let shared = Result<CurlLibrary, FileError> { () throws(FileError) in try CurlLibrary() }

  private init() throws(FileError) {
    let library = try DynamicLibrary(
      "libcurl.so.4", package: "libcurl4", for: "files in a bucket")
    setOption = try library.symbol("curl_easy_setopt")
    getInfo = try library.symbol("curl_easy_getinfo")
    makeHandle = try library.function(
      "curl_easy_init", (@convention(c) () -> UnsafeMutableRawPointer?).self)
    reset = try library.function(
      "curl_easy_reset", (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)
    perform = try library.function(
      "curl_easy_perform", (@convention(c) (UnsafeMutableRawPointer?) -> CURLcode).self)
    cleanUp = try library.function(
      "curl_easy_cleanup", (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)
    describe = try library.function(
      "curl_easy_strerror", (@convention(c) (CURLcode) -> UnsafePointer<CChar>?).self)
    append = try library.function(
      "curl_slist_append",
      (@convention(c) (UnsafeMutablePointer<curl_slist>?, UnsafePointer<CChar>?) ->
        UnsafeMutablePointer<curl_slist>?).self)
    freeList = try library.function(
      "curl_slist_free_all", (@convention(c) (UnsafeMutablePointer<curl_slist>?) -> Void).self)
    date = try library.function(
      "curl_getdate",
      (@convention(c) (UnsafePointer<CChar>?, UnsafePointer<time_t>?) -> time_t).self)
    let initialize = try library.function(
      "curl_global_init", (@convention(c) (Int) -> CURLcode).self)
    let code = initialize(pipeline_curl_global_all)
    guard code == CURLE_OK else {
      throw FileError(
        .unavailable, "libcurl can't be initialized: \(Self.text(describe(code))).", path: nil)
    }
  }

  /// Seconds since 1970 of a date in a header; `nil` if it is none.
  func seconds(_ text: String) -> Int? {
    let seconds = date(text, nil)
    return seconds < 0 ? nil : seconds
  }

  func text(of code: CURLcode) -> String { Self.text(describe(code)) }

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? "unknown error"
  }
}
