import Files
import Glibc
import PipelineModel

/// The key pair that signs requests to a store.
struct S3Credentials: Equatable, Sendable {
  var id: String
  var secret: String
  /// Of temporary credentials.
  var token: String?
}

/// What the environment and the usual files say about stores: the same variables and files as other
/// programs for S3 read.
///
/// Source: docs.aws.amazon.com/sdkref, “Shared config and credentials files” and “Environment variables”.
struct S3Settings: Sendable {
  private let environment: [String: String]
  private let profile: String
  private let credentialsFile: [String: String]
  private let configurationFile: [String: String]
  /// The names of the other profiles that have a key pair.
  private let others: [String]
  private let places: String

  static let variables = [
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL",
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "HOME",
  ]

  /// - Throws: `FileError` of code `unavailable` if a file can't be read, or others may read the secrets.
  init(environment: [String: String]) throws(FileError) {
    self.environment = environment
    let profile = Self.value("AWS_PROFILE", of: environment) ?? "default"
    self.profile = profile
    let home = environment["HOME"] ?? "/"
    let credentials = Self.value("AWS_SHARED_CREDENTIALS_FILE", of: environment)
    let configuration = Self.value("AWS_CONFIG_FILE", of: environment)
    let credentialsPath = credentials ?? "\(home)/.aws/credentials"
    places = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in “\(credentialsPath)”"
    let known = try Self.sections(
      of: BytePath(credentialsPath), isRequired: credentials != nil, secretsOf: nil)
    credentialsFile = known[profile] ?? [:]
    let names = profile == "default" ? ["default"] : ["profile \(profile)", profile]
    let configured = try Self.sections(
      of: BytePath(configuration ?? "\(home)/.aws/config"), isRequired: configuration != nil,
      secretsOf: names)
    configurationFile = names.reduce(into: [:]) { values, name in
      values.merge(configured[name] ?? [:]) { first, _ in first }
    }
    let keys = ["aws_access_key_id", "aws_secret_access_key"]
    let usable = known.filter { section in keys.allSatisfy { section.value[$0] != nil } }.map(\.key)
    others = usable.filter { $0 != profile }.sorted()
  }

  /// - Throws: `FileError` of code `unavailable` if there are none.
  func credentials() throws(FileError) -> S3Credentials {
    if let id = Self.value("AWS_ACCESS_KEY_ID", of: environment) {
      guard let secret = Self.value("AWS_SECRET_ACCESS_KEY", of: environment) else {
        throw FileError(
          .unavailable, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not: set both.",
          path: nil)
      }
      return S3Credentials(
        id: id, secret: secret, token: Self.value("AWS_SESSION_TOKEN", of: environment))
    }
    for file in [credentialsFile, configurationFile] {
      if let id = file["aws_access_key_id"], let secret = file["aws_secret_access_key"] {
        return S3Credentials(id: id, secret: secret, token: file["aws_session_token"])
      }
    }
    let choice = others.map { "“\($0.printable)”" }.joined(separator: ", ")
    throw FileError(
      .unavailable,
      "There are no credentials for the server of the bucket: set \(places). The profile is “\(profile)”"
        + (choice.isEmpty ? "." : "; AWS_PROFILE can choose \(choice) instead."),
      path: nil)
  }

  var endpoint: String? {
    Self.value("AWS_ENDPOINT_URL_S3", of: environment)
      ?? Self.value("AWS_ENDPOINT_URL", of: environment) ?? configurationFile["endpoint_url"]
  }

  var region: String? {
    Self.value("AWS_REGION", of: environment) ?? Self.value("AWS_DEFAULT_REGION", of: environment)
      ?? configurationFile["region"]
  }

  private static func value(_ name: String, of environment: [String: String]) -> String? {
    environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Reads a file in the INI format: the values of its sections by their names; empty if the file is missing.
  ///
  /// - Parameter names: the sections in which secrets count; `nil` if the file has secrets in any case.
  private static func sections(
    of path: BytePath, isRequired: Bool, secretsOf names: [String]?
  ) throws(FileError) -> [String: [String: String]] {
    let file: Descriptor
    do throws(FileError) {
      file = try Descriptor.open(path, flags: O_RDONLY)
    } catch {
      if error.code == .notFound, !isRequired { return [:] }
      throw FileError(.unavailable, error.message, path: path)
    }
    let text = String(decoding: try file.readToEnd(limit: 1 << 20), as: UTF8.self)
    var sections: [String: [String: String]] = [:]
    var current: String?
    for line in text.split(whereSeparator: \.isNewline) {
      let line = trimmed(line)
      if line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        let name = String(trimmed(line.dropFirst().dropLast()))
        sections[name] = sections[name] ?? [:]
        current = name
      } else if let current, let equals = line.firstIndex(of: "=") {
        sections[current]?[String(trimmed(line[..<equals]))] = String(
          trimmed(line[line.index(after: equals)...]))
      }
    }
    let hasSecrets = names?.contains { sections[$0]?["aws_secret_access_key"] != nil } ?? true
    let status = try file.status()
    if hasSecrets, status.kind == .regular, status.permissions & 0o077 != 0 {
      throw FileError(
        .unavailable,
        "“\(path.printable)” holds secrets, and other users may read it: run `chmod 600 "
          + "\(path.shellWord)`.", path: path)
    }
    return sections
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
