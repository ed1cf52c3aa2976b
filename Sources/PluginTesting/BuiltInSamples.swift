/// Small files of common kinds, each below 2 KiB, built into the program.
package enum BuiltInSamples {
  /// A picture of 24 by 16 pixels in each format.
  package static let jpeg = PackageResources.picture_jpg
  package static let png = PackageResources.picture_png
  package static let gif = PackageResources.picture_gif
  package static let bmp = PackageResources.picture_bmp
  package static let webp = PackageResources.picture_webp
  package static let tiff = PackageResources.picture_tiff
  package static let heic = PackageResources.picture_heic
  package static let avif = PackageResources.picture_avif
  /// A JPEG that its EXIF orientation turns, and the same picture stored upright.
  package static let turnedJPEG = PackageResources.turned_jpg
  package static let uprightJPEG = PackageResources.upright_jpg
  /// Some words.
  package static let text = PackageResources.text_txt
}
