import Fixtures
import Foundation
import PipelineLibrary
import PipelineModel
import Testing
import Vips

/// Pictures of `PipelineLibrary`, which the built program makes.
@Suite("Pictures of the product", .timeLimit(.minutes(10)))
struct ProductPictureTests {
  private func made() async throws -> (Workspace, Library, Asset) {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 800, height: 600), as: "a.jpg")
    try workspace.put("a text", as: "t.txt")
    try workspace.json("run")
    let library = try await open(workspace)
    let asset = try #require(try await library.fetch(Fetch(query: "name=a.jpg")).first)
    return (workspace, library, asset)
  }

  private func open(
    _ workspace: Workspace, program: String? = BuiltProgram.path.description
  ) async throws -> Library {
    try await workspace.openLibrary(
      program: program,
      configuration: workspace.root.appending("pipeline.json").description)
  }

  @Test("A picture comes with its type and size, however many ask for it at once")
  func pictures() async throws {
    let (workspace, library, asset) = try await made()
    let request = PictureRequest(
      maxPixelSize: 300, region: .init(x: 0, y: 0, width: 400, height: 200), format: .webp)
    let all = try await withThrowingTaskGroup(of: PipelineLibrary.Picture.self) { group in
      for _ in 0..<20 { group.addTask { try await library.picture(of: asset.id, request) } }
      var all: Set<PipelineLibrary.Picture> = []
      for try await picture in group { all.insert(picture) }
      return all
    }
    let picture = try #require(all.first)
    #expect(all.count == 1)
    #expect(picture.type == "image/webp" && picture.width == 300 && picture.height == 150)
    #expect(!picture.isStale && picture.damage == nil)
    let reading = try PicturesReading(Array(picture.data))
    #expect(reading.width == 300 && reading.loader == .webp)
    let usual = try await library.picture(of: asset.id, PictureRequest(maxPixelSize: 9999 / 3))
    #expect(usual.type == "image/jpeg" && usual.width == 800)
    _ = workspace
  }

  @Test(
    "With the configuration of another library there is no picture, and the program is to blame")
  func otherLibrary() async throws {
    let (workspace, _, asset) = try await made()
    let other = try Workspace()
    try other.json("run")
    let library = try await workspace.openLibrary(
      program: BuiltProgram.path.description,
      configuration: other.root.appending("pipeline.json").description)
    let error = await #expect(throws: LibraryError.self) {
      try await library.picture(of: asset.id, PictureRequest(maxPixelSize: 100))
    }
    #expect(error?.code == .noProgram)
  }

  @Test("An outdated picture comes first, then the new one; one that is current comes alone")
  func stale() async throws {
    let (workspace, library, asset) = try await made()
    let request = PictureRequest(maxPixelSize: 300)
    func all() async throws -> [Bool] {
      var all: [Bool] = []
      for try await picture in library.pictures(of: asset.id, request) {
        all.append(picture.isStale)
      }
      return all
    }
    #expect(try await all() == [false])
    let note = workspace.library.appending("renditions/.on-demand/maker")
    let text = String(decoding: try workspace.read(note), as: UTF8.self)
    let other = text.replacing(/"version":"[^"]*"/, with: #""version":"0.0.1""#)
    try #require(other != text)
    try workspace.write(Array(other.utf8), to: note)
    #expect(try await all() == [true, false])
    #expect(try await all() == [false])
  }

  @Test("Each error has its code and a sentence")
  func errors() async throws {
    let (workspace, library, asset) = try await made()
    let text = try #require(try await library.fetch(Fetch(query: "name=t.txt")).first)
    let missing = try await open(workspace, program: "/nowhere/pipeline")
    let wrong = try await open(workspace, program: "/bin/true")
    let absent = try #require(AssetID("018f0000-0000-7000-8000-000000000001"))
    let outside = PictureRequest(
      maxPixelSize: 10, region: .init(x: 800, y: 0, width: 1, height: 1))
    let cases: [(Library, AssetID, PictureRequest, LibraryError.Code, String)] = [
      (library, asset.id, PictureRequest(maxPixelSize: 5000), .badRequest, "4096"),
      (library, asset.id, outside, .badRequest, "800 × 600"),
      (library, text.id, PictureRequest(maxPixelSize: 10), .noPicture, "text/plain"),
      (library, absent, PictureRequest(maxPixelSize: 10), .noAsset, "no asset"),
      (missing, asset.id, PictureRequest(maxPixelSize: 10), .noProgram, "/nowhere/pipeline"),
      (wrong, asset.id, PictureRequest(maxPixelSize: 10), .noProgram, "/bin/true"),
    ]
    for (library, id, request, code, words) in cases {
      let error = await #expect(throws: LibraryError.self) {
        _ = try await library.picture(of: id, request)
      }
      #expect(error?.code == code, "\(words)")
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
  }

  @Test("Who is cancelled waits for no program")
  func cancelled() async throws {
    let (workspace, _, asset) = try await made()
    try workspace.write(Array("#!/bin/sh\nexec sleep 600\n".utf8), to: "slow")
    try Unprivileged.shell("chmod +x slow", in: workspace)
    let library = try await open(
      workspace, program: workspace.root.appending("slow").description)
    let task = Task { try await library.picture(of: asset.id, PictureRequest(maxPixelSize: 10)) }
    task.cancel()
    let result = await task.result
    #expect(throws: LibraryError.self) { try result.get() }
  }
}
