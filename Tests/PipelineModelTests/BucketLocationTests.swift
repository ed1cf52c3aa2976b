import PipelineModel
import Testing

@Suite("Locations of buckets")
struct BucketLocationTests {
  @Test("A location is read, and written as it was")
  func whole() throws {
    let text =
      "s3://bucket.name/a/b?endpoint=https://s3.example.org:8080&region=eu-central-1&style=path"
    let location = try BucketLocation(text)
    #expect(location.bucket == "bucket.name" && location.prefix == "a/b")
    #expect(location.endpoint == "https://s3.example.org:8080")
    #expect(location.region == "eu-central-1" && location.style == .path)
    #expect(location.description == text && location.name == "s3://bucket.name/a/b")
    let short = try BucketLocation("s3://bucket/")
    #expect(short.prefix.isEmpty && short.description == "s3://bucket")
    #expect(
      try BucketLocation("s3://b-1/p/?endpoint=http://[::1]:9000/").endpoint == "http://[::1]:9000")
    // The scheme's own port is in no request, and so in no signature.
    for (address, plain) in [
      ("https://host:443", "https://host"), ("http://host:80/", "http://host"),
      ("https://host:80", "https://host:80"), ("http://host:443", "http://host:443"),
      ("http://host:8080", "http://host:8080"),
    ] {
      #expect(try BucketLocation.endpoint(address) == plain)
    }
  }

  @Test(
    "What names no bucket is refused",
    arguments: [
      "", "bucket", "https://host/bucket", "s3://", "s3:///prefix", "s3://ab", "s3://Bucket",
      "s3://bucket_", "s3://-bucket", "s3://a..b", "s3://bucket//a", "s3://bucket/../a",
      "s3://bucket/a b", "s3://bucket/ä", "s3://bucket?endpoint=host", "s3://bucket?endpoint=",
      "s3://bucket?endpoint=https://host/path", "s3://bucket?endpoint=https://user:pw@host",
      "s3://bucket?style=old", "s3://bucket?region=", "s3://bucket?regions=a", "s3://bucket?",
      "s3://key:secret@bucket/prefix",
    ])
  func refused(text: String) {
    #expect(throws: LocationFault.self) { try BucketLocation(text) }
  }

  @Test("A secret in it is answered with where it belongs")
  func secret() throws {
    let fault = try #require(throws: LocationFault.self) {
      try BucketLocation("s3://KEY:SECRET@bucket")
    }
    #expect(fault.reason.contains("AWS_SECRET_ACCESS_KEY") && !fault.reason.contains("SECRET@"))
  }
}
