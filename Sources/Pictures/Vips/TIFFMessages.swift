internal import Synchronization

/// Messages from libtiff while it decodes, about any file.
///
/// Errors go to libvips' buffer, warnings to GLib's log; both belong to the process.
enum TIFFMessages {
  private static let state = Mutex<(count: Int, last: String)>((0, ""))

  /// Words in warnings that mean missing pixels; other warnings are about tags.
  ///
  /// Source: libtiff 4.5, tif_fax3.h, tif_packbits.c, tif_next.c.
  private static let wordsOfWarnings = ["Premature EOF", "Line length mismatch", "Discarding"]

  /// The number of messages so far, and the last one as a clause.
  static func heard() -> (count: Int, last: String) {
    _ = VipsError.drainBuffer()
    return state.withLock { $0 }
  }

  /// Records errors from libvips' buffer.
  static func hear(errors text: String) {
    // libvips has libjpeg decode the JPEGs within TIFFs.
    let lines = [PictureLoader.tiff, .jpeg].flatMap {
      VipsMessage.lines(of: text, from: $0, orUnknown: false)
    }.filter { !VipsMessage.isOfTag($0) }
    note(lines)
  }

  /// Records a warning if it means damage.
  static func hear(warning text: String) {
    guard wordsOfWarnings.contains(where: text.contains) else { return }
    note(VipsMessage.lines(of: text, from: nil))
  }

  private static func note(_ lines: [String]) {
    guard let clause = VipsMessage.clause(lines) else { return }
    state.withLock { $0 = ($0.count + 1, clause) }
  }
}
