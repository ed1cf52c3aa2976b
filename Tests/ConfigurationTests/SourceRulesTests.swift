import PipelineModel
import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1))) struct SourceRulesTests {
  private func rules(include: [String] = ["**"], exclude: [String] = []) throws -> SourceRules {
    SourceRules(
      include: try include.map { try Glob($0) }, exclude: try exclude.map { try Glob($0) })
  }

  @Test(
    "Built-in ignores name their rule",
    arguments: [
      (".hidden", ".*"), ("a/.git/config", ".*"), ("x.part", "*.part"), ("X.PART", "*.part"),
      ("a.crdownload", "*.crdownload"), ("a.tmp", "*.tmp"), ("a.jpg~", "*~"), ("~$a.doc", "~$*"),
      ("thumbs.db", "Thumbs.db"), ("a/@eaDir/b.jpg", "@eaDir"), ("#recycle/a.jpg", "#recycle"),
      ("._a.jpg", "._*"), (".DS_Store", ".DS_Store"), ("__MACOSX/a", "__MACOSX"),
      ("$Recycle.Bin/x", "$RECYCLE.BIN"), (".stfolder/x", ".stfolder"), (".nfs0001", ".nfs*"),
      ("System Volume Information/x", "System Volume Information"), ("desktop.ini", "desktop.ini"),
      (".syncthing.a.jpg.tmp", "*.tmp"), (".~lock.a.odt#", ".~lock.*#"), ("a.swp", "*.swp"),
      ("lost+found/#12", "lost+found/"), (".stversions/a.jpg", ".stversions"),
    ])
  func builtIn(path: String, pattern: String) throws {
    let verdict = try rules().verdict(for: BytePath(path), isFolder: false)
    guard case .ignored(let rule) = verdict else {
      Issue.record("\(path) is accepted")
      return
    }
    #expect(rule.hasPrefix("built-in ignore “\(pattern)”: "), "\(rule)")
  }

  @Test(
    "What looks like an ignored name is accepted",
    arguments: ["a.partition", "part", "tmp", "a.tmp.jpg", "lost+found", "recycle/a.jpg", "-rf"])
  func accepted(path: String) throws {
    #expect(try rules().verdict(for: BytePath(path), isFolder: false) == .accepted)
  }

  @Test("Every built-in rule compiles and is about names")
  func compiles() {
    #expect(BuiltInIgnores.rules.count > 25)
    for rule in BuiltInIgnores.rules {
      #expect(rule.glob.isName && !rule.reason.isEmpty)
    }
  }

  @Test(
    "An exclude that covers a folder ignores it as a whole",
    arguments: ["drafts", "drafts/", "/drafts", "/drafts/**", "drafts/**", "**/drafts/**", "Dr*"])
  func wholeFolder(pattern: String) throws {
    let rules = try rules(exclude: [pattern])
    let expected = SourceRules.Verdict.ignored(rule: "excluded by “\(pattern)”")
    #expect(rules.verdict(for: BytePath("drafts"), isFolder: true) == expected)
    #expect(rules.verdict(for: BytePath("drafts/a.jpg"), isFolder: false) == expected)
    #expect(rules.verdict(for: BytePath("drafts/x/y.jpg"), isFolder: false) == expected)
    #expect(rules.verdict(for: BytePath("final/a.jpg"), isFolder: false) == .accepted)
  }

  @Test("An exclude of files leaves their folder open")
  func partOfFolder() throws {
    let rules = try rules(exclude: ["drafts/*.txt", "**/b/**/c"])
    #expect(rules.verdict(for: BytePath("drafts"), isFolder: true) == .accepted)
    #expect(rules.verdict(for: BytePath("b"), isFolder: true) == .accepted)
    #expect(rules.verdict(for: BytePath("drafts/a.jpg"), isFolder: false) == .accepted)
    #expect(rules.verdict(for: BytePath("drafts/a.txt"), isFolder: false) != .accepted)
  }

  @Test("Includes decide on files and leave folders open")
  func includes() throws {
    let rules = try rules(include: ["*.jpg", "raw/", "2024/*.png"])
    #expect(rules.verdict(for: BytePath("x"), isFolder: true) == .accepted)
    #expect(rules.verdict(for: BytePath("x/a.JPG"), isFolder: false) == .accepted)
    #expect(rules.verdict(for: BytePath("x/raw/deep/a.cr2"), isFolder: false) == .accepted)
    #expect(rules.verdict(for: BytePath("2024/a.png"), isFolder: false) == .accepted)
    #expect(
      rules.verdict(for: BytePath("2024/x/a.png"), isFolder: false)
        == .ignored(rule: "not included by “*.jpg”, “raw/”, “2024/*.png”"))
    #expect(
      try self.rules(include: []).verdict(for: BytePath("a"), isFolder: false)
        == .ignored(rule: "nothing is included"))
  }

  @Test("An exclude wins over an include, and a built-in ignore over both")
  func precedence() throws {
    let rules = try rules(include: ["*.jpg", "*.part"], exclude: ["a*"])
    #expect(
      rules.verdict(for: BytePath("a.jpg"), isFolder: false)
        == .ignored(rule: "excluded by “a*”"))
    #expect(rules.verdict(for: BytePath("b.part"), isFolder: false) != .accepted)
    #expect(rules.verdict(for: BytePath("b.jpg"), isFolder: false) == .accepted)
  }

  @Test("On a walk from the top, folders above are not examined again")
  func walking() throws {
    let rules = try rules(exclude: ["drafts"])
    let path = BytePath("drafts/a.jpg")
    #expect(rules.verdict(for: path, isFolder: false, foldersAreAccepted: true) == .accepted)
    #expect(rules.verdict(for: path, isFolder: false) != .accepted)
  }
}
