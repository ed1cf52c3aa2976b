import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

@testable import ObjectStorage

@Suite("What the environment says about stores")
struct S3SettingsTests {
  private let home: TemporaryFolder

  init() throws {
    home = try TemporaryFolder()
    try Descriptor.openFolder(home.path).makeFolder(".aws")
  }

  private func write(_ text: String, as name: BytePath) throws {
    try Descriptor.openFolder(home.path.appending(".aws")).writeDurably(
      Array(text.utf8), as: name)
  }

  private func settings(_ variables: [String: String] = [:]) throws -> S3Settings {
    try S3Settings(
      environment: variables.merging(["HOME": home.path.description]) { first, _ in first })
  }

  @Test("Variables come before files")
  func variables() throws {
    try write("[default]\naws_access_key_id = file\naws_secret_access_key = s\n", as: "credentials")
    let named = ["AWS_ACCESS_KEY_ID": "variable", "AWS_SECRET_ACCESS_KEY": "t"]
    #expect(try settings(named).credentials() == S3Credentials(id: "variable", secret: "t"))
    #expect(try settings().credentials() == S3Credentials(id: "file", secret: "s"))
  }

  @Test("A profile is read from both files")
  func profile() throws {
    try write(
      """
      [default]
      aws_access_key_id = wrong
      aws_secret_access_key = wrong
      # a comment
      [archive]
      aws_access_key_id=ID
        aws_secret_access_key =  a=b/c+d
      aws_session_token = T
      [other]
      aws_access_key_id = wrong
      """, as: "credentials")
    try write(
      "[profile archive]\nregion = eu-central-1\nendpoint_url = https://s3.example.org\n",
      as: "config")
    let settings = try settings(["AWS_PROFILE": "archive"])
    #expect(
      try settings.credentials() == S3Credentials(id: "ID", secret: "a=b/c+d", token: "T"))
    #expect(settings.region == "eu-central-1")
    #expect(settings.endpoint == "https://s3.example.org")
  }

  @Test("What is missing is named")
  func missing() throws {
    #expect(throws: FileError.self) { try settings().credentials() }
    do throws(FileError) {
      _ = try S3Settings(environment: ["AWS_ACCESS_KEY_ID": "id"]).credentials()
      Issue.record("There is no secret.")
    } catch {
      #expect(error.code == .unavailable && error.message.contains("AWS_SECRET_ACCESS_KEY"))
    }
    #expect(throws: FileError.self) {
      try settings(["AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials"])
    }
    try write("[archive]\naws_access_key_id = i\naws_secret_access_key = s\n", as: "credentials")
    #expect {
      try settings().credentials()
    } throws: {
      "\($0)".contains("AWS_PROFILE can choose “archive” instead")
    }
  }

  @Test("Secrets that others may read are refused")
  func permissions() throws {
    try write("[default]\naws_access_key_id = i\naws_secret_access_key = s\n", as: "credentials")
    let path = home.appending(".aws/credentials")
    try #require(chmod("\(path)", 0o644) == 0)
    do {
      _ = try settings()
      Issue.record("Anybody can read the secret.")
    } catch let error as FileError {
      #expect(error.message.contains("chmod 600"))
    }
  }

  @Test("A configuration that others may read is refused only with secrets")
  func configurationPermissions() throws {
    let path = home.appending(".aws/config")
    try write("[default]\nregion = here\n", as: "config")
    try #require(chmod("\(path)", 0o644) == 0)
    #expect(try settings().region == "here")
    try write("[default]\naws_access_key_id = i\naws_secret_access_key = s\n", as: "config")
    try #require(chmod("\(path)", 0o600) == 0)
    #expect(try settings().credentials() == S3Credentials(id: "i", secret: "s"))
    try #require(chmod("\(path)", 0o644) == 0)
    #expect {
      try settings()
    } throws: { error in
      (error as? FileError).map { $0.code == .unavailable && $0.message.contains("chmod 600") }
        ?? false
    }
  }
}
