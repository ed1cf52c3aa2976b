import Hashing
import PipelineModel
import Testing

@testable import ObjectStorage

/// The examples of docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
@Suite("Signatures of requests to a store")
struct S3SignatureTests {
  private let signature = S3Signature(
    credentials: S3Credentials(
      id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    region: "us-east-1", time: 1_369_353_600)
  private let host = (name: "host", value: "examplebucket.s3.amazonaws.com")
  private let nothing = SHA256.digest(of: [])

  private func sign(
    _ method: String, _ path: String, query: [String: String] = [:],
    _ headers: [(name: String, value: String)] = [], payload: Digest
  ) -> String? {
    let all = signature.headers(
      method: method, path: path, query: query, headers: [host] + headers, payload: payload)
    return all.first { $0.name == "authorization" }?.value.split(separator: "=").last.map(
      String.init)
  }

  @Test("A part of an object is read with the published signature")
  func get() {
    #expect(
      sign("GET", "/test.txt", [("range", "bytes=0-9")], payload: nothing)
        == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
  }

  @Test("An object is stored with the published signature")
  func put() {
    let headers = [
      (name: "date", value: "Fri, 24 May 2013 00:00:00 GMT"),
      (name: "x-amz-storage-class", value: "REDUCED_REDUNDANCY"),
    ]
    #expect(
      sign(
        "PUT", "/test%24file.text", headers,
        payload: SHA256.digest(of: Array("Welcome to Amazon S3.".utf8)))
        == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
  }

  @Test("A query is sorted and encoded as the published signatures want it")
  func query() {
    #expect(
      sign("GET", "/", query: ["lifecycle": ""], payload: nothing)
        == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    #expect(
      sign("GET", "/", query: ["prefix": "J", "max-keys": "2"], payload: nothing)
        == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
  }

  @Test("A token of temporary credentials is sent and signed")
  func token() throws {
    let temporary = S3Signature(
      credentials: S3Credentials(id: "ID", secret: "S", token: "T"), region: "r", time: 0)
    let headers = temporary.headers(
      method: "GET", path: "/", query: [:], headers: [host], payload: nothing)
    #expect(headers.contains { $0.name == "x-amz-security-token" && $0.value == "T" })
    let authorization = try #require(headers.first { $0.name == "authorization" }?.value)
    #expect(authorization.contains("x-amz-security-token"))
    #expect(headers.contains { $0.name == "x-amz-date" && $0.value == "19700101T000000Z" })
  }
}
