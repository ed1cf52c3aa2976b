import COpenJPEG
import Containers
import PictureDecoding

/// The decoded values of a picture's components, or of what a palette made of them.
struct Channels {
  private let layout: SampleLayout
  private let reduction: Int
  private let planes: [Plane]
  /// For each channel whether it is no colour, as far as the file says. Source: ISO/IEC 15444-1, annex I.5.3.6.
  private let purposes: [UInt16]
  // Frees the values.
  private let owner: Codestream

  init(
    _ image: opj_image_t, _ reduction: Int, of owner: Codestream
  ) throws(DecoderError) {
    layout = SampleLayout(image)
    self.reduction = reduction
    self.owner = owner
    // OpenJPEG has as many as it says.
    let components = UnsafeBufferPointer(start: image.comps, count: Int(image.numcomps))
    purposes = components.map(\.alpha)
    var planes: [Plane] = []
    for (component, place) in zip(components, layout.components) {
      guard let data = component.data, component.w > 0, component.h > 0,
        (1...32).contains(place.bits)
      else {
        throw DecoderError(
          .undecodable, "The JPEG 2000 can't be decoded: a component has no values")
      }
      planes.append(
        Plane(
          data, component, place, layout.columns(of: place, reduction),
          layout.rows(of: place, reduction)))
    }
    self.planes = planes
  }

  /// Returns the pixels in 8 bits: grey (1 band), RGB (3) or RGB and alpha (4).
  func colors(_ colors: JPEG2000Structure.Colors?) -> (pixels: [UInt8], bands: Int) {
    let model = ColorModel(layout, colors)
    let alpha = alpha(behind: model.channels)
    let used = planes[..<model.channels] + (alpha.map { [planes[$0]] } ?? [])
    let bands = alpha != nil ? 4 : model == .grey ? 1 : 3
    let (width, height) = (layout.width(reduction), layout.height(reduction))
    var rows = used.map { _ in [Float](repeating: 0, count: width) }
    // Chroma without colour is in the middle of its whole numbers.
    let bits = layout.components[model.channels > 1 ? 1 : 0].bits
    let neutral = 255 * Float(1 << (bits - 1)) / Float(1 << bits - 1)
    var pixels: [UInt8] = []
    pixels.reserveCapacity(width * height * bands)
    for y in 0..<height {
      for (index, plane) in used.enumerated() { plane.read(row: y, into: &rows[index]) }
      if let alpha, purposes[alpha] == 2 { Self.divide(&rows, used.map(\.zero)) }
      model.convert(&rows, neutral: neutral)
      let shown = bands == 1 ? [0] : model == .grey ? [0, 0, 0] : [0, 1, 2]
      let order = shown + (alpha == nil ? [] : [model.channels])
      for x in 0..<width {
        for index in order { pixels.append(UInt8(min(max(rows[index][x], 0), 255) + 0.5)) }
      }
    }
    return (pixels, bands)
  }

  /// The profile that the pixels have; empty for sRGB.
  func profile(_ colors: JPEG2000Structure.Colors?, bands: Int) -> [UInt8] {
    guard case .profile(let profile) = colors else { return [] }
    // Source: ICC.1:2010, section 7.2.6.
    let space = bands == 1 ? "GRAY" : "RGB "
    return profile.dropFirst(16).starts(with: space.utf8) ? profile : []
  }

  /// The channel of the alpha: the one that the file calls so, or the only one that is left.
  private func alpha(behind colors: Int) -> Int? {
    let others = colors..<planes.count
    let said = others.first { purposes[$0] == 1 || purposes[$0] == 2 }
    return said ?? (others.count == 1 && purposes[colors] == 0 ? colors : nil)
  }

  /// Divides channels by the last one, a premultiplied alpha, which has multiplied them.
  ///
  /// - Parameter zeros: where the value 0 of each channel is.
  private static func divide(_ rows: inout [[Float]], _ zeros: [Float]) {
    let alpha = rows.count - 1
    for x in rows[alpha].indices where rows[alpha][x] > 0 {
      for index in 0..<alpha {
        rows[index][x] = zeros[index] + (rows[index][x] - zeros[index]) * 255 / rows[alpha][x]
      }
    }
  }

  /// The values of a channel.
  private struct Plane {
    private let values: UnsafeBufferPointer<Int32>
    private let width: Int
    private let columns: [Int]
    private let rows: [Int]
    /// What is added to a value, so that the least is 0.
    private let offset: Int
    private let most: Int
    /// How many of the lower bits are left out.
    private let shift: Int
    /// Values from 0 to 255 for those of the file.
    private let table: [Float]
    /// Which of these is that of 0.
    let zero: Float

    init(
      _ data: UnsafePointer<Int32>, _ component: opj_image_comp_t,
      _ place: SampleLayout.Component, _ columns: [Int], _ rows: [Int]
    ) {
      width = Int(component.w)
      let height = Int(component.h)
      values = UnsafeBufferPointer(start: data, count: width * height)
      self.columns = columns.map { [width] in min($0, width - 1) }
      self.rows = rows.map { min($0, height - 1) }
      most = 1 << place.bits - 1
      offset = place.isSigned ? 1 << (place.bits - 1) : 0
      shift = max(0, place.bits - 16)
      let last = Float(most >> shift)
      table = (0...(most >> shift)).map { Float($0) * 255 / last }
      zero = table[offset >> shift]
    }

    func read(row: Int, into target: inout [Float]) {
      let start = rows[row] * width
      for x in target.indices {
        // Within the plane, because columns and rows are cut to its size.
        let value = Int(values[start + columns[x]]) + offset
        target[x] = table[min(max(value, 0), most) >> shift]
      }
    }
  }
}

/// What the channels of a picture mean.
enum ColorModel: Hashable {
  case grey
  case rgb
  /// Luminance and chroma, with the range that video leaves at both ends or without it.
  case ycc(isNarrow: Bool, isHD: Bool)
  case cmyk
  case lab(LabScale)

  init(_ layout: SampleLayout, _ colors: JPEG2000Structure.Colors?) {
    let count = layout.components.count
    let space =
      if case .profile(let profile)? = colors { Array(profile.dropFirst(16).prefix(4)) } else {
        [UInt8]()
      }
    switch colors {
    case .enumerated(JPEG2000Structure.Colors.cmyk) where count >= 4: self = .cmyk
    case .profile where count >= 4 && space.elementsEqual("CMYK".utf8): self = .cmyk
    case .lab(let coding) where count >= 3:
      self = .lab(LabScale(coding, bits: layout.components.prefix(3).map(\.bits)))
    case .enumerated(JPEG2000Structure.Colors.grey): self = .grey
    case .profile where space.elementsEqual("GRAY".utf8): self = .grey
    case _ where count < 3: self = .grey
    case .enumerated(JPEG2000Structure.Colors.ycc709): self = .ycc(isNarrow: true, isHD: true)
    case .enumerated(JPEG2000Structure.Colors.ycc601): self = .ycc(isNarrow: true, isHD: false)
    case .enumerated(let number) where JPEG2000Structure.Colors.ycc.contains(number):
      self = .ycc(isNarrow: false, isHD: false)
    // OpenJPEG's own program also takes it for chroma: nobody leaves out green and blue.
    case _ where Self.hasChroma(layout): self = .ycc(isNarrow: false, isHD: false)
    default: self = .rgb
    }
  }

  /// Whether the second and the third component have fewer columns than the first.
  private static func hasChroma(_ layout: SampleLayout) -> Bool {
    let (first, second, third) = (
      layout.components[0], layout.components[1], layout.components[2]
    )
    return second.dx > first.dx && second.dx == third.dx && second.dy == third.dy
  }

  /// How many channels are colours.
  var channels: Int {
    switch self {
    case .grey: 1
    case .rgb, .ycc, .lab: 3
    case .cmyk: 4
    }
  }

  /// The name that `identify` has for it.
  var name: String {
    switch self {
    case .grey: "grey"
    case .rgb, .ycc: "srgb"
    case .cmyk: "cmyk"
    case .lab: "lab"
    }
  }

  /// Converts rows of channels, with values from 0 to 255, to RGB or grey.
  ///
  /// Source: ISO/IEC 15444-1, annex G.3; ITU-R BT.601 and BT.709.
  ///
  /// - Parameter neutral: the chroma of what has no colour.
  func convert(_ rows: inout [[Float]], neutral: Float) {
    switch self {
    case .grey, .rgb: return
    case .ycc(let isNarrow, let isHD):
      let (red, blue): (Float, Float) = isHD ? (1.5748, 1.8556) : (1.402, 1.772)
      let (greenBlue, greenRed): (Float, Float) =
        isHD ? (-0.187324, -0.468124) : (-0.344136, -0.714136)
      let (black, light, chroma): (Float, Float, Float) =
        isNarrow ? (16, 255 / 219, 255 / 224) : (0, 1, 1)
      for x in rows[0].indices {
        let y = (rows[0][x] - black) * light
        let (cb, cr) = ((rows[1][x] - neutral) * chroma, (rows[2][x] - neutral) * chroma)
        rows[0][x] = y + red * cr
        rows[1][x] = y + greenBlue * cb + greenRed * cr
        rows[2][x] = y + blue * cb
      }
    case .cmyk:
      for x in rows[0].indices {
        let white = (255 - rows[3][x]) / 255
        for index in 0..<3 { rows[index][x] = (255 - rows[index][x]) * white }
      }
    case .lab(let scale):
      for x in rows[0].indices {
        (rows[0][x], rows[1][x], rows[2][x]) = scale.color((rows[0][x], rows[1][x], rows[2][x]))
      }
    }
  }
}
