import Ingest
import LibrarySession
import PipelineModel
import Testing

@testable import Web

@Suite("What addresses ask for of images", .timeLimit(.minutes(1)))
struct ImageParametersTests {
  private func resolved(
    _ path: String, width: Int = 1000, height: Int = 800, most: Int = 600
  ) throws(HTTPError) -> ResolvedImage {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    return try ResolvedImage(
      ImageParameters(segments[...]), of: .init(width: width, height: height), most: most)
  }

  @Test(
    "Equal requests have one canonical address",
    arguments: [
      ("full/max/0/default.jpg", "full/max/0/default.jpg"),
      ("full/600,480/0/color.jpg", "full/max/0/default.jpg"),
      ("full/600,/0/default.jpg", "full/max/0/default.jpg"),
      ("0,0,1000,800/^max/360/default.jpg", "full/max/0/default.jpg"),
      ("0,0,9999,9999/!600,600/0.0/default.png", "full/max/0/default.png"),
      ("pct:0,0,100,100/pct:25/90/gray.png", "full/250,200/90/gray.png"),
      ("pct:50,50,50,50/max/0/default.jpg", "500,400,500,400/max/0/default.jpg"),
      ("pct:99.99,0,0.01,100/max/0/default.jpg", nil),
      ("square/,300/!180/bitonal.webp", "100,0,800,800/300,300/!180/bitonal.webp"),
      ("900,700,500,500/max/270/default.jpg", "900,700,100,100/max/270/default.jpg"),
      ("0,0,100,100/^200,/0/default.jpg", "0,0,100,100/^200,200/0/default.jpg"),
      ("0,0,100,50/^max/0/default.jpg", "0,0,100,50/^600,300/0/default.jpg"),
      ("0,0,100,50/^!300,300/0/default.jpg", "0,0,100,50/^300,150/0/default.jpg"),
      ("0,0,100,50/^50,/0/default.jpg", "0,0,100,50/50,25/0/default.jpg"),
      ("full/7,599/0/default.jpg", "full/7,599/0/default.jpg"),
      ("full/!300,600/0/default.jpg", "full/300,240/0/default.jpg"),
      ("full/!600,120/0/default.jpg", "full/150,120/0/default.jpg"),
      ("0,0,1000,1/5,/0/default.jpg", "0,0,1000,1/5,1/0/default.jpg"),
    ] as [(String, String?)])
  func canonical(path: String, expected: String?) throws {
    guard let expected else {
      #expect(throws: HTTPError.self) { try resolved(path) }
      return
    }
    let image = try resolved(path)
    #expect(image.canonical == expected)
    // It is its own canonical address, and asks for the same.
    let again = try resolved(image.canonical)
    #expect(again.canonical == expected && again.request == image.request)
  }

  @Test("Only the tile that has the whole image is an overview, however it is asked for")
  func overview() throws {
    for path in [
      "full/500,400/0/default.jpg", "0,0,1000,800/500,/90/gray.png", "full/pct:50/0/default.jpg",
    ] {
      #expect(try resolved(path).request.isOverview, "\(path)")
    }
    for path in [
      "full/250,200/0/default.jpg", "full/512,410/0/default.jpg", "full/500,401/0/default.jpg",
      "full/max/0/default.jpg", "0,0,999,800/500,400/0/default.jpg",
    ] { #expect(try !resolved(path).request.isOverview, "\(path)") }
    // Sides are rounded up, and a small image is one tile.
    #expect(
      try resolved("full/251,113/0/default.jpg", width: 1001, height: 449, most: 300).request
        .isOverview)
    #expect(try resolved("full/max/0/default.jpg", width: 90, height: 60).request.isOverview)
  }

  @Test(
    "What is not written as it must be is 400, what only others know 501",
    arguments: [
      (400, "x/max/0/default.jpg"), (400, "0,0,5/max/0/default.jpg"),
      (400, "0,0,0,5/max/0/default.jpg"), (400, "0,0,5,0/max/0/default.jpg"),
      (400, "-1,0,5,5/max/0/default.jpg"), (400, "1000,0,5,5/max/0/default.jpg"),
      (400, "0,800,5,5/max/0/default.jpg"), (400, "0,0,5,5,5/max/0/default.jpg"),
      (400, "0.5,0,5,5/max/0/default.jpg"), (400, "9999999999,0,5,5/max/0/default.jpg"),
      (400, "pct:0,0,0,5/max/0/default.jpg"), (400, "pct:100,0,5,5/max/0/default.jpg"),
      (400, "pct:-1,0,5,5/max/0/default.jpg"), (400, "pct:nan,0,5,5/max/0/default.jpg"),
      (400, "pct:1e1,0,5,5/max/0/default.jpg"), (400, "pct:0,0,5/max/0/default.jpg"),
      (400, "pct:/max/0/default.jpg"), (400, "/max/0/default.jpg"),
      (400, "full/full/0/default.jpg"), (400, "full//0/default.jpg"),
      (400, "full/,/0/default.jpg"), (400, "full/!,5/0/default.jpg"),
      (400, "full/!5,/0/default.jpg"), (400, "full/0,/0/default.jpg"),
      (400, "full/5,0/0/default.jpg"), (400, "full/5/0/default.jpg"),
      (400, "full/-5,5/0/default.jpg"), (400, "full/5,5,5/0/default.jpg"),
      (400, "full/pct:0/0/default.jpg"), (400, "full/pct:200/0/default.jpg"),
      (400, "full/601,/0/default.jpg"), (400, "full/1001,/0/default.jpg"),
      (400, "0,0,50,50/60,/0/default.jpg"), (400, "0,0,50,50/!60,60/0/default.jpg"),
      (400, "full/^601,/0/default.jpg"), (400, "full/^pct:99999999999999/0/default.jpg"),
      (400, "full/^/0/default.jpg"), (400, "full/^^max/0/default.jpg"),
      (400, "full/max/x/default.jpg"), (400, "full/max/-90/default.jpg"),
      (400, "full/max/361/default.jpg"), (400, "full/max/!/default.jpg"),
      (400, "full/max/!!90/default.jpg"), (400, "full/max/9e1/default.jpg"),
      (400, "full/max/./default.jpg"), (400, "full/max/0/native.jpg"),
      (400, "full/max/0/default"), (400, "full/max/0/default.jpg.png"),
      (400, "full/max/0/.jpg"), (400, "full/max/0/default."), (400, "full/max/0/default.xyz"),
      (400, "full/max/0/default.JPG"), (404, "full/max/0"), (404, "full/max/0/default.jpg/x"),
      (501, "full/max/45/default.jpg"), (501, "full/max/!22.5/default.jpg"),
      (501, "full/max/0/default.tif"), (501, "full/max/0/default.jp2"),
      (501, "full/max/0/default.gif"), (501, "full/max/0/default.pdf"),
    ])
  func refused(status: Int, path: String) {
    let error = #expect(throws: HTTPError.self) { try resolved(path) }
    #expect(error?.status == status, "\(path)")
  }

  @Test("All sizes and tiles of info.json can be asked for, and tiles cover the image")
  func information() throws {
    for most in [4096, 300] {
      for (width, height) in [(1000, 800), (511, 3), (6000, 4000), (513, 1), (1, 1), (20000, 30)] {
        let size = PictureKey.Size(width: width, height: height)
        let info = ImageInformation(id: "http://localhost/iiif/3/x", size: size, most: most).members
        #expect(info["width"]?.integer == width && info["height"]?.integer == height)
        for known in info["sizes"]?.array ?? [] {
          let sides = try [#require(known["width"]?.integer), #require(known["height"]?.integer)]
          let image = try resolved(
            "full/\(sides[0]),\(sides[1])/0/default.jpg", width: width, height: height, most: most)
          #expect(image.size == .init(width: sides[0], height: sides[1]))
        }
        let tiles = try #require(info["tiles"]?.array?.first)
        let tile = try #require(tiles["width"]?.integer)
        #expect(tile == min(512, most))
        let factors = (tiles["scaleFactors"]?.array ?? []).compactMap { $0.integer }
        #expect(factors.first == 1)
        for factor in factors {
          let step = tile * factor
          for x in stride(from: 0, to: width, by: step) {
            for y in stride(from: 0, to: height, by: step) {
              let (w, h) = (min(step, width - x), min(step, height - y))
              let (tileWidth, tileHeight) = ((w + factor - 1) / factor, (h + factor - 1) / factor)
              _ = try resolved(
                "\(x),\(y),\(w),\(h)/\(tileWidth),\(tileHeight)/0/default.jpg", width: width,
                height: height, most: most)
            }
          }
        }
        #expect(max(width, height) <= tile * (factors.last ?? 0))
      }
    }
  }
}
