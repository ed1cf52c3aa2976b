import Fixtures
import PipelineModel
import Records
import Testing

@testable import Catalog

/// Which files belong together, by names and facts alone.
@Suite("Forming groups", .timeLimit(.minutes(2)))
struct GroupFormationTests {
  private static let noon: Int64 = 1_714_564_800_000_000

  /// - Parameter taken: seconds after noon.
  private func file(
    _ number: Int, _ name: String, _ part: GroupCandidate.Part, taken: Double? = nil,
    camera: String? = nil, identifier: String? = nil
  ) -> GroupCandidate {
    GroupCandidate(
      id: Samples.id(number), name: name, part: part,
      taken: taken.map { Self.noon + Int64($0 * 1_000_000) }, camera: camera,
      contentIdentifier: identifier)
  }

  /// Each member's role and leader, in order, as `2 raw of 1`; forms the groups in both orders.
  private func members(
    _ files: [GroupCandidate], _ policy: GroupPolicy = .standard
  ) -> [String] {
    let formation = GroupFormation(of: files, policy)
    #expect(GroupFormation(of: files.reversed(), policy).members == formation.members)
    func number(_ id: AssetID?) -> String {
      files.firstIndex { $0.id == id }.map { "\($0 + 1)" } ?? "?"
    }
    return formation.members.sorted { $0.key < $1.key }.map { id, member in
      "\(number(id)) \(member.role) of \(number(member.leader))"
        + (member.sidecar.map { " with \(number($0))" } ?? "")
    }
  }

  @Test("A raw file and its JPEG are joined, whatever the order of their extensions")
  func rawAndJPEG() {
    for (raw, jpeg) in [("a.CR3", "a.JPG"), ("a.jpg.raf", "a.jpg"), ("a.nef", "a.nef.jpg")] {
      #expect(
        members([file(1, raw, .raw, taken: 0), file(2, jpeg, .still, taken: 1)])
          == ["1 raw of 2", "2 primary of 2"])
    }
    #expect(members([file(1, "a.cr3", .raw), file(2, "a.jpg", .still)]).count == 2)
    // A derived file is none of the camera's.
    #expect(members([file(1, "a.cr3", .raw), file(2, "a.tif", .other)]) == [])
    #expect(members([file(1, "a.jpg", .still), file(2, "a.heic", .still)]) == [])
    #expect(
      GroupFormation(
        of: [file(1, "a.cr3", .raw), file(2, "a.jpg", .still)], .standard
      ).members[Samples.id(1)]?.kinds == [.rawAndJPEG])
  }

  @Test("What dates, cameras or identifiers keep apart is never joined")
  func contradictions() {
    #expect(
      members([file(1, "a.cr3", .raw, taken: 0), file(2, "a.jpg", .still, taken: 2.1)]) == [])
    #expect(
      members([
        file(1, "a.cr3", .raw, camera: "canon eos r5"), file(2, "a.jpg", .still, camera: "x-t5"),
      ]) == [])
    // A maker alone, or a model alone, is no other camera.
    #expect(
      members([
        file(1, "a.cr3", .raw, camera: "canon eos r5"), file(2, "a.jpg", .still, camera: "eos r5"),
      ]).count == 2)
    #expect(
      members([
        file(1, "a.heic", .still, taken: 0, identifier: "A"),
        file(2, "a.mov", .movie, taken: 0, identifier: "B"),
      ]) == [])
  }

  @Test("Of two shots with one name each has its own files, and one that fits both has none")
  func twoShots() {
    let files = [
      file(1, "a.cr3", .raw, taken: 0), file(2, "a.jpg", .still, taken: 0.5),
      file(3, "a.cr3", .raw, taken: 700_000), file(4, "a.jpg", .still, taken: 700_001),
    ]
    #expect(
      members(files) == ["1 raw of 2", "2 primary of 2", "3 raw of 4", "4 primary of 4"])
    #expect(members(files + [file(5, "a.jpg", .still)]).contains { $0.hasPrefix("5") } == false)
    #expect(members(files + [file(5, "a.jpg", .still)]).count == 4)
    // A chain whose ends are too far apart.
    #expect(
      members([
        file(1, "a.cr3", .raw, taken: 0), file(2, "a.jpg", .still, taken: 1.5),
        file(3, "a.cr3", .raw, taken: 3),
      ]) == [])
  }

  @Test("A Live Photo is joined by its identifier, otherwise only by times that are known")
  func livePhoto() {
    #expect(
      members([
        file(1, "a.heic", .still, taken: 0, identifier: "A"),
        file(2, "a.mov", .movie, taken: 7_200, identifier: "A"),
      ]) == ["1 primary of 1", "2 movie of 1"])
    #expect(
      members([file(1, "a.heic", .still, taken: 0), file(2, "a.mov", .movie, taken: -1.5)]).count
        == 2)
    #expect(members([file(1, "a.heic", .still, taken: 0), file(2, "a.mov", .movie)]) == [])
    // The raw file's time contradicts the film's, which decides nothing between those with an identifier.
    #expect(
      members([
        file(1, "a.dng", .raw, taken: 0), file(2, "a.heic", .still, taken: 0, identifier: "A"),
        file(3, "a.mov", .movie, taken: 7_200, identifier: "A"),
      ]) == [])
    #expect(
      members([
        file(1, "a.dng", .raw, taken: 0), file(2, "a.heic", .still, taken: 0, identifier: "A"),
        file(3, "a.mov", .movie, taken: 1, identifier: "A"),
      ]) == ["1 raw of 2", "2 primary of 2", "3 movie of 2"])
  }

  @Test("A sidecar with the whole name takes precedence, and the last one of a name counts")
  func sidecars() {
    #expect(
      members([
        file(1, "a.jpg", .still), file(2, "a.xmp", .sidecar), file(3, "a.jpg.xmp", .sidecar),
      ]) == ["1 primary of 1 with 3", "2 sidecar of 1", "3 sidecar of 1"])
    #expect(
      members([
        file(1, "a.jpg", .still), file(2, "a.jpg.xmp", .sidecar), file(3, "a.jpg.xmp", .sidecar),
        file(4, "a.xmp", .sidecar),
      ]).first == "1 primary of 1 with 3")
    // The raw file's sidecar is not that of the JPEG, if they name one each.
    #expect(
      members([
        file(1, "a.cr3", .raw), file(2, "a.jpg", .still), file(3, "a.cr3.xmp", .sidecar),
      ]) == ["1 raw of 2 with 3", "2 primary of 2", "3 sidecar of 2"])
    #expect(
      members([file(1, "a.cr3", .raw), file(2, "a.jpg", .still), file(3, "a.xmp", .sidecar)])
        == ["1 raw of 2 with 3", "2 primary of 2 with 3", "3 sidecar of 2"])
    #expect(members([file(1, "a.pdf", .other), file(2, "a.pdf.xmp", .sidecar)]).count == 2)
  }

  @Test("A sidecar without a picture, or with one of several, is an orphan")
  func orphans() {
    #expect(members([file(1, "a.xmp", .sidecar)]) == ["1 orphan of 1"])
    #expect(
      members([
        file(1, "a.jpg", .still, camera: "x-t5"), file(2, "a.xmp", .sidecar, camera: "d850"),
      ]) == ["2 orphan of 2"])
    let two = [file(1, "a.jpg", .still, taken: 0), file(2, "a.jpg", .still, taken: 700_000)]
    #expect(members(two + [file(3, "a.xmp", .sidecar)]) == ["3 orphan of 3"])
    #expect(
      members(two + [file(3, "a.xmp", .sidecar, taken: 700_001)])
        == ["2 primary of 2 with 3", "3 sidecar of 2"])
    // A clock or a zone that was corrected.
    #expect(
      members([file(1, "a.jpg", .still, taken: 0), file(2, "a.xmp", .sidecar, taken: 40_000)])
        .count == 2)
    #expect(
      members([file(1, "a.jpg", .still, taken: 0), file(2, "a.xmp", .sidecar, taken: 200_000)])
        == ["2 orphan of 2"])
    // Sidecars that contradict each other: nobody knows which is right.
    #expect(
      members([
        file(1, "a.jpg", .still), file(2, "a.xmp", .sidecar, camera: "d850"),
        file(3, "a.jpg.xmp", .sidecar, camera: "x-t5"),
      ]) == ["2 orphan of 2", "3 orphan of 3"])
  }

  @Test("A policy decides what is joined, and how far apart times may be")
  func policies() {
    let files = [
      file(1, "a.cr3", .raw, taken: 0), file(2, "a.jpg", .still, taken: 5),
      file(3, "a.xmp", .sidecar, taken: 0),
    ]
    #expect(members(files, GroupPolicy([])) == [])
    let wide = GroupPolicy([GroupRule(kind: .rawAndJPEG, within: TimeSpan("10s"))])
    #expect(members(files, wide) == ["1 raw of 2", "2 primary of 2"])
    #expect(members(files) == ["1 primary of 1 with 3", "3 sidecar of 1"])
    let text = GroupPolicy([GroupRule(kind: .sidecar), GroupRule(kind: .livePhoto)]).text
    #expect(text == "livePhoto:3000000 sidecar:86400000000")
    #expect(GroupPolicy(text: text).text == text)
    #expect(GroupPolicy(text: "new:1 sidecar:x  sidecar:1").text == "sidecar:1")
  }

  @Test("More files than can be compared stay alone, and their sidecars are told of")
  func tooMany() {
    let files = (1...GroupFormation.mostFiles).map { file($0, "a.jpg", .still) }
    #expect(members(files) == [])
    #expect(members(files + [file(200, "a.xmp", .sidecar)]) == ["101 orphan of 101"])
  }

  @Test("1,000 random folders: no group has two files that contradict each other")
  func neverContradicting() {
    let seed = UInt64.random(in: 1..<1_000_000)
    var random = SeededRandom(seed: seed)
    var joined = 0
    for _ in 0..<1_000 {
      let files = Self.randomFiles(using: &random)
      let members = GroupFormation(of: files, .standard).members
      #expect(
        GroupFormation(of: files.shuffled(using: &random), .standard).members == members,
        "seed \(seed)")
      for left in files {
        for right in files where left.id < right.id {
          guard let mine = members[left.id], mine.leader == members[right.id]?.leader else {
            continue
          }
          joined += 1
          #expect(!left.isOther(than: right), "seed \(seed): \(left) and \(right)")
          let distance = GroupKind.sidecar.usualDistance.milliseconds * 1000
          let isSidecar = left.part == .sidecar || right.part == .sidecar
          #expect(
            left.hasIdentifier(of: right)
              || left.isNear(right, within: isSidecar ? Int64(distance) : 3_000_000) != false,
            "seed \(seed): \(left) and \(right)")
        }
      }
      // Each sidecar is somewhere.
      for sidecar in files where sidecar.part == .sidecar {
        #expect(members[sidecar.id] != nil, "seed \(seed): \(sidecar)")
      }
    }
    #expect(joined > 500)
  }

  private static func randomFiles(using random: inout SeededRandom) -> [GroupCandidate] {
    func pick<Value>(_ values: [Value]) -> Value {
      values[Int.random(in: 0..<values.count, using: &random)]
    }
    return (1...Int.random(in: 1...8, using: &random)).map { number in
      let (name, part): (String, GroupCandidate.Part) = pick([
        ("a.cr3", .raw), ("a.jpg", .still), ("a.heic", .still), ("a.mov", .movie),
        ("a.jpg.raf", .raw), ("a.xmp", .sidecar), ("a.jpg.xmp", .sidecar), ("a.png", .other),
        ("a.cr3.xmp", .sidecar),
      ])
      var file = GroupCandidate(
        id: Samples.id(number), name: name, part: part,
        taken: pick([nil, 0, 1_000_000, 2_500_000, 4_000_000, 90_000_000_000]),
        camera: pick([nil, nil, nil, "canon eos r5", "eos r5", "x-t5"]),
        contentIdentifier: pick([nil, nil, nil, "A", "B"]))
      file.isTakenOnDay = file.taken == 0 && Bool.random(using: &random)
      return file
    }
  }
}
