import CPictureDecoder
package import Containers
import Glibc
package import PipelineModel

/// What reads which kinds of files: one line a kind.
///
/// `docs/kinds.md` shows it to users.
package enum DecoderTable {
  /// The kinds that one decoder reads.
  package struct Entry: Sendable {
    /// A name for people.
    package let name: String
    /// Media types, or patterns such as `video/*`.
    package let types: [String]
    package let decoder: Decoder
    /// What decodes those files that `decoder` does not read; `nil` if there is nothing.
    package let second: Decoder?
    /// Whether a file with such bytes is one for `second`.
    private let isForSecond: @Sendable (ByteReader) -> Bool
    /// The most bytes of a file that is decoded; `nil` if its size does not matter, because it is not
    /// read as a whole.
    package let mostBytes: Int?
    /// The most seconds of processor time that a job on such a file may use, unless its stage sets a
    /// limit; `nil` for none.
    package let mostCPU: Double?

    /// Why a file of this size is not decoded, without a full stop; `nil` if it is.
    package func refusal(ofBytes size: Int) -> String? {
      guard let mostBytes, size > mostBytes else { return nil }
      return
        "The file has \(size >> 20) MiB; of \(name), files of up to \(mostBytes >> 20) MiB are "
        + "decoded"
    }

    /// What decodes a file with such bytes: `second` if it is one for it and the library is there.
    package func decoder(of reader: ByteReader) -> Decoder {
      guard let second, case .library(let name) = second, !DecoderTable.absent.contains(name),
        isForSecond(reader)
      else { return decoder }
      return second
    }

    /// The names of the libraries that decode it.
    fileprivate var libraries: [String] {
      [decoder, second].compactMap { decoder in
        if case .library(let name) = decoder { name } else { nil }
      }
    }

    fileprivate init(
      _ name: String, _ types: [String], _ decoder: Decoder = .libvips, second: Decoder? = nil,
      if isForSecond: @escaping @Sendable (ByteReader) -> Bool = { _ in false },
      mostBytes: Int? = nil, mostCPU: Double? = nil
    ) {
      self.name = name
      self.types = types
      self.decoder = decoder
      self.second = second
      self.isForSecond = isForSecond
      self.mostBytes = mostBytes
      self.mostCPU = mostCPU
    }
  }

  package enum Decoder: Hashable, Sendable {
    /// A loader of libvips.
    case libvips
    /// The shared library `libpicture-decoder-NAME.so`, loaded when the first such file comes.
    case library(String)
  }

  /// All kinds; the first entry with a file's type counts.
  package static let entries: [Entry] = [
    Entry("JPEG", ["image/jpeg"]),
    Entry("PNG", ["image/png"]),
    Entry("WebP", ["image/webp"]),
    Entry("GIF", ["image/gif"]),
    Entry(
      "TIFF", ["image/tiff"], second: .library("magick"), if: TIFFStructure.isBeyondLibvips),
    Entry(
      "HEIF and AVIF",
      ["image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence", "image/avif"]),
    Entry(
      "JPEG 2000", ["image/jp2", "image/jpx", "image/x-jp2-codestream"],
      second: .library("openjpeg"), if: JPEG2000Structure.isBeyondLibvips, mostBytes: 1 << 30),
    Entry("JPEG XL", ["image/jxl"], mostBytes: 1 << 30),
    Entry(
      "PNM and PFM",
      [
        "image/x-portable-bitmap", "image/x-portable-greymap", "image/x-portable-pixmap",
        "image/x-portable-floatmap",
      ]),
    Entry("Radiance HDR", ["image/vnd.radiance"], mostBytes: 1 << 30),
    Entry("OpenEXR", ["image/x-exr"], mostBytes: 1 << 30),
    Entry("FITS", ["image/fits"], mostBytes: 1 << 30),
    // A drawing of a few bytes can keep librsvg busy for hours, and nothing interrupts it.
    Entry("SVG", ["image/svg+xml"], mostBytes: 10 << 20, mostCPU: 2),
    Entry("PDF and AI", ["application/pdf"], mostBytes: 1 << 30),
    Entry(
      "raw",
      [
        "image/x-adobe-dng", "image/x-canon-cr2", "image/x-canon-cr3", "image/x-canon-crw",
        "image/x-epson-erf", "image/x-fuji-raf", "image/x-hasselblad-3fr", "image/x-kodak-dcr",
        "image/x-kodak-kdc", "image/x-leaf-mos", "image/x-mamiya-mef", "image/x-minolta-mrw",
        "image/x-nikon-nef", "image/x-olympus-orf", "image/x-panasonic-rw2", "image/x-pentax-pef",
        "image/x-phaseone-iiq", "image/x-raw", "image/x-samsung-srw", "image/x-sigma-x3f",
        "image/x-sony-arw",
      ], .library("raw"), mostBytes: 1 << 30),
    Entry(
      "BMP, ICO, PCX, TGA, PSD and other old kinds",
      [
        "image/bmp", "image/vnd.microsoft.icon", "image/x-icon", "image/x-win-bitmap",
        "image/x-pcx", "image/vnd.zbrush.pcx", "image/x-tga", "image/vnd.adobe.photoshop",
        "image/x-dds", "image/vnd-ms.dds", "image/x-sgi", "image/x-sun-raster",
        "image/x-xbitmap", "image/x-xpixmap",
      ], .library("magick"), mostBytes: 1 << 30),
    Entry(
      "video and sound",
      [
        "video/*", "image/avif-sequence", "application/mxf", "application/ogg", "audio/mpeg",
        "audio/mp4", "audio/x-m4a",
        "audio/flac", "audio/x-flac", "audio/ogg", "audio/x-wav", "audio/x-aiff",
        "audio/x-hx-aac-adts", "audio/x-ms-wma", "audio/x-ape", "audio/amr",
      ], .library("video")),
  ]

  /// Returns what reads files of a type, or `nil`.
  package static func entry(for type: MediaType) -> Entry? {
    entries.first { $0.types.contains(where: type.matches) }
  }

  /// The entries whose decoder is there.
  package static let present: [Entry] = entries.filter { entry in
    switch entry.decoder {
    case .libvips: true
    case .library(let name): access(path(of: name), R_OK) == 0
    }
  }

  /// The names of the libraries that are not there.
  package static let absent: Set<String> = libraries.filter { access(path(of: $0), R_OK) != 0 }

  private static let libraries = Set(entries.flatMap(\.libraries))

  /// What is built with each decoder in a library of its own: a name for people, and the Debian packages.
  private static let ingredients = [
    "raw": ("raw files", "libraw-dev"),
    "magick": ("PSD, icons and other old kinds of pictures", "libmagickcore-dev"),
    "video": (
      "films and sound", "libavformat-dev, libavcodec-dev and libswscale-dev"
    ),
  ]

  /// The types that nothing reads because their decoder was left out, each with a reason.
  package static let lacks: [(types: [String], reason: String)] = entries.compactMap { entry in
    guard case .library(let name) = entry.decoder, absent.contains(name) else { return nil }
    let (kinds, packages) = ingredients[name] ?? (entry.name, "its library")
    return (
      entry.types,
      "The decoder of \(kinds) was left out when the program was built: install \(packages), and "
        + "build and install the program again."
    )
  }

  /// The versions that decide what can be decoded, for a manifest.
  ///
  /// Failures are tried again when they change. Of the decoders in libraries of their own only the
  /// names, because they are loaded only for a file: first those that are there, then those that
  /// are left out.
  package static func runtime(_ libvips: String) -> String {
    let words =
      libraries.subtracting(absent).sorted().map { "decoder \($0)" }
      + absent.sorted().map { "without decoder \($0)" }
    return ([libvips] + words).joined(separator: ", ")
  }

  /// Where a decoder's library is: next to the one that asks.
  package static func path(of name: String) -> String { "\(folder)/libpicture-decoder-\(name).so" }

  /// The folder of the library that this code is part of.
  private static let folder: String = {
    var place = picture_decoder_place()
    guard picture_decoder_find(#dsohandle, &place) != 0, let name = place.file else { return "." }
    let path = String(cString: name)
    return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }()
}
