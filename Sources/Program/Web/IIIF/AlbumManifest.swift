import Catalog
import Ingest
import PipelineModel
import Query
import Records

/// An album as viewers show it: a canvas for each picture. Source: IIIF Presentation API 3.0.
struct AlbumManifest: Sendable {
  private let name: String
  private let base: String
  private let most: Int
  private let count: Int
  private let pictures: [(asset: FoundAsset, size: PictureKey.Size)]

  static let context = "http://iiif.io/api/presentation/3/context.json"
  /// The most pictures that are shown.
  private static let mostPictures = 5000
  /// The longer side of a picture in a list, in pixels.
  private static let thumbnail = 200

  /// - Parameters:
  ///   - base: the address that those of images begin with.
  ///   - most: the most pixels of a side of an image.
  /// - Throws: 404 if no asset is in an album of this name.
  init(_ name: String, base: String, most: Int, in library: ReadableLibrary) throws {
    (self.name, self.base, self.most) = (name, base, most)
    let isInAlbum = Filter.text(.album, .equals(TextFolding.compose(name)))
    var search = AssetSearch(.all([isInAlbum, .not(.flag(.trashed))]))
    search.order = try SortCriterion.all(in: "taken")
    var keys: [AssetID] = []
    try search.run(in: library.catalog, damaged: [], need: .keys) { id, _ in keys.append(id) }
    guard !keys.isEmpty else {
      throw HTTPError(404, "noAlbum", "There is no album with this name.")
    }
    count = keys.count
    let found = try library.catalog.foundAssets(
      Array(keys.prefix(Self.mostPictures)), withRenditions: false)
    guard let found else { throw HTTPError.busy }
    pictures = found.compactMap { asset in
      guard let width = asset.width.flatMap({ Int(exactly: $0) }),
        let height = asset.height.flatMap({ Int(exactly: $0) }), width > 0, height > 0
      else { return nil }
      return (asset, PictureKey.Size(width: width, height: height))
    }
  }

  var members: JSONValue {
    var members: [String: JSONValue] = [
      "@context": .string(Self.context), "type": "Manifest", "label": Self.label(name),
      "id": .string("\(base)album/\(URLText.encoded(name))/manifest.json"),
      "items": .array(pictures.map { canvas($0.asset, $0.size) }),
    ]
    if count > Self.mostPictures {
      members["summary"] = Self.label("The first \(Self.mostPictures) of \(count) files.")
    }
    return .object(members)
  }

  private func canvas(_ asset: FoundAsset, _ size: PictureKey.Size) -> JSONValue {
    let image = base + asset.id.description
    let canvas = image + "/canvas"
    let small = size.reduced(toFit: Self.thumbnail, Self.thumbnail)
    let annotation: JSONValue = [
      "id": .string(canvas + "/image"), "type": "Annotation", "motivation": "painting",
      "target": .string(canvas),
      "body": body(image, "max", size.reduced(toFit: most, most)),
    ]
    return [
      "id": .string(canvas), "type": "Canvas", "label": Self.label(asset.title ?? asset.name),
      "width": .integer(size.width), "height": .integer(size.height),
      "thumbnail": [body(image, "\(small.width),\(small.height)", small)],
      "items": [
        ["id": .string(canvas + "/page"), "type": "AnnotationPage", "items": [annotation]]
      ],
    ]
  }

  private func body(_ image: String, _ words: String, _ size: PictureKey.Size) -> JSONValue {
    [
      "id": .string("\(image)/full/\(words)/0/default.jpg"), "type": "Image",
      "format": "image/jpeg", "width": .integer(size.width), "height": .integer(size.height),
      "service": [
        ["id": .string(image), "type": "ImageService3", "profile": "level2"]
      ],
    ]
  }

  private static func label(_ text: String) -> JSONValue { ["none": [.string(text)]] }
}
