/// The media types whose metadata is read.
///
/// Exiv2 distinguishes types only by their first bytes, and mistakes an SVG or an icon for a
/// damaged file of another type. Source: exiv2's table of supported formats. XMP in GIFs and
/// sidecars is found without exiv2.
enum MetadataKinds {
  static let all = [
    "image/jpeg", "image/png", "image/webp", "image/tiff", "image/heic", "image/heif",
    "image/heic-sequence", "image/heif-sequence", "image/avif", "image/jxl", "image/jp2",
    "image/jpx", "image/gif", "application/rdf+xml",
    "image/vnd.adobe.photoshop", "image/x-adobe-dng", "image/x-canon-cr2", "image/x-canon-cr3",
    "image/x-canon-crw", "image/x-epson-erf", "image/x-fuji-raf", "image/x-hasselblad-3fr",
    "image/x-kodak-dcr", "image/x-leaf-mos", "image/x-mamiya-mef", "image/x-minolta-mrw",
    "image/x-nikon-nef", "image/x-olympus-orf", "image/x-panasonic-rw2", "image/x-pentax-pef",
    "image/x-phaseone-iiq", "image/x-raw", "image/x-samsung-srw", "image/x-sony-arw",
  ]
}
