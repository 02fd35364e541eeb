import Foundation
import Testing

@testable import Uploads

/// Signature Version 4 against the examples that AWS has published.
@Suite("Signatures of requests") struct SignatureTests {
  /// “Authenticating Requests: Using the Authorization Header”, Amazon S3 API Reference: its four examples.
  private static let documented = RequestSigner(
    S3Credentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    region: "us-east-1")
  /// 24 May 2013, 00:00 UTC.
  private static let may24: Int64 = 1_369_353_600
  private static let host = "examplebucket.s3.amazonaws.com"

  private func authorization(_ request: S3Request, _ payload: String = RequestSigner.emptyPayload) -> String {
    var request = request
    Self.documented.sign(&request, payload: payload, at: Self.may24)
    return request.headers.last { $0.name == "Authorization" }?.value ?? ""
  }

  @Test("Reading a range is signed as documented") func readingARange() {
    let request = S3Request("GET", authority: Self.host, path: "/test.txt", headers: [("Range", "bytes=0-9")])
    #expect(
      authorization(request)
        == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
  }

  @Test("Writing an object is signed as documented") func writing() {
    let request = S3Request(
      "PUT", authority: Self.host, path: "/" + "test$file.text".percentEncoded(slashes: false),
      headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")])
    // The SHA-256 of “Welcome to Amazon S3.”
    let payload = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
    #expect(
      authorization(request, payload).hasSuffix(
        "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
  }

  @Test("A query without a value and a list are signed as documented") func aQueryWithoutValueAndAList() {
    #expect(
      authorization(S3Request("GET", authority: Self.host, query: [("lifecycle", "")])).hasSuffix(
        "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
    #expect(
      authorization(S3Request("GET", authority: Self.host, query: [("prefix", "J"), ("max-keys", "2")])).hasSuffix(
        "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
  }

  /// “Authenticating Requests: Using Query Parameters”, the same reference.
  @Test("A presigned URL is the documented one") func anAddressThatIsSigned() throws {
    let url = try Self.documented.presignedURL(
      for: S3Request("GET", authority: Self.host, path: "/test.txt"), lifetime: 86_400, at: Self.may24)
    #expect(url.hasPrefix("https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
    #expect(url.contains("X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"))
    #expect(url.hasSuffix("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"))
    #expect(throws: UploadsError.self) {
      try Self.documented.presignedURL(for: S3Request("GET", authority: Self.host), lifetime: 604_801, at: 0)
    }
  }

  /// The test suite of Signature Version 4: get-vanilla, get-vanilla-query-order-key-case and post-vanilla.
  @Test(
    "The signatures of the test suite of Signature Version 4 are reproduced",
    arguments: [
      ("GET", [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
      ("GET", ["Param2", "Param1"], "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
      ("POST", [], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ])
  func theSuite(_ method: String, _ query: [String], _ signature: String) {
    let values = ["Param1": "value1", "Param2": "value2"]
    var request = S3Request(
      method, authority: "example.amazonaws.com", query: query.map { (name: $0, value: values[$0] ?? "") })
    let signer = RequestSigner(
      S3Credentials(accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
      region: "us-east-1", service: "service")
    signer.sign(&request, payload: RequestSigner.emptyPayload, at: 1_440_938_160)
    #expect(request.headers.last?.value.hasSuffix("Signature=" + signature) == true)
  }

  @Test("Descriptions of credentials contain no secret") func secretsAreNotShown() {
    let credentials = S3Credentials(accessKey: "KEY", secretKey: "hidden", sessionToken: "hidden")
    var text = "\(credentials) \(String(reflecting: credentials))"
    dump(credentials, to: &text)
    #expect(text.contains("KEY"))
    #expect(!text.contains("hidden"))
  }

  @Test("Date headers are parsed, and other text is refused") func datesOfServers() {
    #expect(SignatureTime.seconds(ofDateHeader: "Fri, 24 May 2013 00:00:00 GMT") == Self.may24)
    for text in ["", "Fri, 24 Mai 2013 00:00:00 GMT", "Friday, 24-May-13 00:00:00 GMT", "Fri, 24 May 2013 00:00 GMT"] {
      #expect(SignatureTime.seconds(ofDateHeader: text) == nil, "\(text)")
    }
  }
}
