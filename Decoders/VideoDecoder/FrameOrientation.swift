import CLibAV

/// How stored frames are to be turned for display.
struct FrameOrientation: Hashable {
  /// The EXIF orientation: 1 to 8.
  let exif: Int

  /// Upright as stored.
  static let upright = FrameOrientation(exif: 1)

  private init(exif: Int) { self.exif = exif }

  /// Reads a display matrix: the first two rows of QuickTime's, as 16.16 fixed point.
  ///
  /// A stored point (x, y), with y downwards, is displayed at (ax + cy, bx + dy). Angles between
  /// are taken as the nearest right angle. Source: QuickTime File Format, “Matrices”.
  init(a: Int32, b: Int32, c: Int32, d: Int32) {
    let straight = a.magnitude / 2 + d.magnitude / 2
    let turned = b.magnitude / 2 + c.magnitude / 2
    if straight == 0 && turned == 0 {
      exif = 1
    } else if straight >= turned {
      switch (a < 0, d < 0) {
      case (false, false): exif = 1
      case (true, false): exif = 2
      case (true, true): exif = 3
      case (false, true): exif = 4
      }
    } else {
      switch (b < 0, c < 0) {
      case (false, false): exif = 5
      case (false, true): exif = 6
      case (true, true): exif = 7
      case (true, false): exif = 8
      }
    }
  }

  /// The orientation that a container gives to a stream.
  init(_ stream: UnsafePointer<AVStream>) {
    var size = 0
    guard let data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size),
      size >= 36
    else {
      self = .upright
      return
    }
    let matrix = UnsafeRawPointer(data)
    func entry(_ index: Int) -> Int32 {
      matrix.loadUnaligned(fromByteOffset: index * 4, as: Int32.self)
    }
    self.init(a: entry(0), b: entry(1), c: entry(3), d: entry(4))
  }

  /// Whether width and height change places.
  var swapsSides: Bool { exif > 4 }

  /// The rotation in degrees clockwise, after mirroring left to right if the frame is mirrored.
  var degrees: Int {
    switch exif {
    case 3, 4: 180
    case 6, 7: 90
    case 5, 8: 270
    default: 0
    }
  }
}
