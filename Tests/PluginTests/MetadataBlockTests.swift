import Fixtures
import Foundation
import PipelineModel
import Testing
import Vips

#if METADATA
  /// What the plugin `metadata` takes from the blocks of a container where exiv2 misses them.
  @Suite("Metadata by blocks", .timeLimit(.minutes(2)))
  struct MetadataBlockTests {
    @Test("EXIF is read where exiv2 does not find it", arguments: [".heic", ".tif[bigtiff]"])
    func missed(suffix: String) throws {
      let block = PicturesExif().bytes
      let bytes = try Pictures.picture(width: 32, height: 24).editingMetadata { editor in
        editor.set(Picture.Field.exif, block)
        editor.set("exif-ifd0-Make", "\(PicturesExif.camera) (none)")
      }.encoded(as: suffix)
      let found = try PluginRun("metadata").facts(bytes)
      if suffix == ".heic" {
        #expect(found["exif"]?["Make"] == .string(PicturesExif.camera))
        #expect(found["exif"]?["DateTimeOriginal"] == "2024-05-06T07:08:09")
        #expect(found["gps"]?["latitude"] != nil)
      } else {
        #expect(found["exif"]?["ImageWidth"] == 32 && found["exif"]?["ImageLength"] == 24)
      }
    }

    @Test("A GIF has its XMP and a PNG its texts")
    func texts() throws {
      let packet = """
        <x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF \
        xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about='' \
        xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmp:Rating='4'/></rdf:RDF></x:xmpmeta>
        """
      let gif = try Pictures.file(try Pictures.picture(width: 32, height: 24), ".gif")
      let tail: [UInt8] = [1] + (0...255).reversed().map { UInt8($0) } + [0]
      let block = [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8) + Array(packet.utf8) + tail
      let table = gif[10] & 0x80 == 0 ? 0 : 3 << (Int(gif[10] & 7) + 1)
      let marked = Array(gif[..<(13 + table)]) + block + gif[(13 + table)...]
      let metadata = try PluginRun("metadata")
      #expect(try metadata.facts(marked) == ["xmp": ["xmp:Rating": 4]])
      let texts = try metadata.facts(
        try png([
          ("tEXt", Array("Software\0A program".utf8)), ("iTXt", Array("Title\0\0\0\0\0Größe".utf8)),
        ]))
      #expect(texts["text"] == ["Software": "A program", "Title": "Größe"])
    }

    @Test("A compressed text of a PNG is read, and one that is a page of nothing is not")
    func compressedTexts() throws {
      // By zlib: “short”, and 100,000 times “a”.
      let short = "eNorzsgvKgEABokCMQ=="
      let long =
        "eNrtwTEBAAAAwqCs61/CGh5AAQ" + String(repeating: "A", count: 135) + "K8GeWYLTQ=="
      let chunks = try [("Short", short), ("Long", long)].map { keyword, text in
        ("zTXt", Array("\(keyword)\0\0".utf8) + Array(try #require(Data(base64Encoded: text))))
      }
      let texts = try PluginRun("metadata").facts(try png(chunks))
      #expect(texts["text"] == ["Short": "short"])
    }
  }
#endif
