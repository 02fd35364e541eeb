internal import Crypto
internal import FoundationEssentials
import Glibc

/// A signer of requests by AWS Signature Version 4, in their headers or in their URL.
///
/// ```swift
/// let signer = RequestSigner(S3Credentials(accessKey: "KEY", secretKey: "SECRET"), region: "eu-central-1")
/// let request = S3Request("GET", authority: "recordings.s3.eu-central-1.amazonaws.com", path: "/ada/talk.wav")
/// let url = try signer.presignedURL(for: request, lifetime: 3600, at: 1_763_800_000)
/// print(url)
/// ```
public struct RequestSigner: Sendable {
  /// The credentials to sign with.
  public var credentials: S3Credentials
  /// The region of the server, such as `us-east-1`.
  public var region: String
  /// The name of the service, such as `s3`.
  public var service: String

  /// The placeholder for the checksum of a body that is not signed.
  public static let unsignedPayload = "UNSIGNED-PAYLOAD"
  /// The SHA-256 of an empty body.
  static let emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  private static let algorithm = "AWS4-HMAC-SHA256"

  /// Creates a signer for one region and service.
  public init(_ credentials: S3Credentials, region: String, service: String = "s3") {
    self.credentials = credentials
    self.region = region
    self.service = service
  }

  /// Signs a request with all its headers, and adds the headers of the signature.
  /// - Parameters:
  ///   - request: The request to sign.
  ///   - payload: The SHA-256 of the body in hexadecimal, or ``unsignedPayload``.
  ///   - seconds: The Unix time of the signature, by the server's clock.
  public func sign(_ request: inout S3Request, payload: String, at seconds: Int64) {
    let time = SignatureTime(seconds)
    request.headers.append(("x-amz-date", time.text))
    if service == "s3" { request.headers.append(("x-amz-content-sha256", payload)) }
    if let token = credentials.sessionToken { request.headers.append(("x-amz-security-token", token)) }
    let (names, signature) = signature(of: request, payload: payload, time)
    request.headers.append(
      (
        "Authorization",
        "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope(time)), SignedHeaders=\(names), "
          + "Signature=\(signature)"
      ))
  }

  /// Returns a URL that permits the request without credentials, for a limited time.
  /// - Parameters:
  ///   - request: The request to permit.
  ///   - lifetime: The lifetime of the URL in seconds, 1 to 604,800 (seven days).
  ///   - seconds: The Unix time at which the lifetime starts.
  /// - Throws: ``UploadsError`` with code `.invalidArgument` if the lifetime is out of range.
  public func presignedURL(
    for request: S3Request, lifetime: Int, at seconds: Int64
  ) throws(UploadsError) -> String {
    guard (1...604_800).contains(lifetime) else {
      throw UploadsError(.invalidArgument, "the lifetime is \(lifetime) s; allowed: 1 s to 604800 s")
    }
    let time = SignatureTime(seconds)
    var request = request
    request.query += [
      ("X-Amz-Algorithm", Self.algorithm),
      ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(time))"),
      ("X-Amz-Date", time.text), ("X-Amz-Expires", "\(lifetime)"),
      ("X-Amz-SignedHeaders", Self.canonicalHeaders(of: request).map(\.name).joined(separator: ";")),
    ]
    if let token = credentials.sessionToken { request.query.append(("X-Amz-Security-Token", token)) }
    let signature = signature(of: request, payload: Self.unsignedPayload, time).signature
    return request.url + "&X-Amz-Signature=\(signature)"
  }

  private func scope(_ time: SignatureTime) -> String { "\(time.day)/\(region)/\(service)/aws4_request" }

  private func signature(
    of request: S3Request, payload: String, _ time: SignatureTime
  ) -> (names: String, signature: String) {
    let headers = Self.canonicalHeaders(of: request)
    let names = headers.map(\.name).joined(separator: ";")
    let canonical = [
      request.method, request.path,
      request.encodedQuery.map { "\($0.name)=\($0.value)" }.joined(separator: "&"),
      headers.map { "\($0.name):\($0.value)\n" }.joined(), names, payload,
    ].joined(separator: "\n")
    let text = [
      Self.algorithm, time.text, scope(time), Crypto.SHA256.hash(data: Data(canonical.utf8)).hex,
    ].joined(separator: "\n")
    var key = SymmetricKey(data: Data("AWS4\(credentials.secretKey)".utf8))
    for step in [time.day, region, service, "aws4_request"] {
      key = SymmetricKey(data: HMAC<Crypto.SHA256>.authenticationCode(for: Data(step.utf8), using: key))
    }
    return (names, HMAC<Crypto.SHA256>.authenticationCode(for: Data(text.utf8), using: key).hex)
  }

  /// Returns the headers by lowercase name, in order, with surplus blanks removed and equal names joined.
  private static func canonicalHeaders(of request: S3Request) -> [(name: String, value: String)] {
    let headers = [("host", request.authority)] + request.headers.map { ($0.name, $0.value) }
    let named = Dictionary(grouping: headers.map { ($0.0.lowercased(), collapsed($0.1)) }, by: \.0)
    return named.map { (name: $0.key, value: $0.value.map(\.1).joined(separator: ",")) }.sorted { $0.name < $1.name }
  }

  private static func collapsed(_ value: String) -> String {
    value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }
}

/// A UTC time as signatures contain it, by the Gregorian calendar in any locale.
struct SignatureTime {
  /// `20150830T123600Z`
  let text: String
  /// `20150830`
  var day: String { String(text.prefix(8)) }

  init(_ seconds: Int64) {
    var instant = time_t(seconds)
    var parts = tm()
    gmtime_r(&instant, &parts)
    func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
    text =
      "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))T"
      + "\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
  }

  /// Returns the Unix time of a `Date` header, such as `Fri, 24 May 2013 00:00:00 GMT` (RFC 9110, 5.6.7); `nil` for any
  /// other text.
  static func seconds(ofDateHeader header: String) -> Int64? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let words = header.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else { return nil }
    let numbers = ([words[1], words[3]] + words[4].split(separator: ":")).map { Int32($0) }
    guard numbers.count == 5, let day = numbers[0], let year = numbers[1], (1970...9999).contains(year),
      let hour = numbers[2], let minute = numbers[3], let second = numbers[4]
    else { return nil }
    var parts = tm()
    parts.tm_mday = day
    parts.tm_mon = Int32(month)
    parts.tm_year = year - 1900
    parts.tm_hour = hour
    parts.tm_min = minute
    parts.tm_sec = second
    return Int64(timegm(&parts))
  }
}
