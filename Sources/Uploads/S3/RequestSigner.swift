internal import Crypto
internal import FoundationEssentials
import Glibc

/// AWS Signature Version 4, in the headers of a request or in its address.
public struct RequestSigner: Sendable {
  /// Who signs.
  public var credentials: S3Credentials
  /// Where the server stands, such as `us-east-1`.
  public var region: String
  /// What is asked for: `s3`.
  public var service: String

  /// What stands for the hash of a body that is not signed.
  public static let unsignedPayload = "UNSIGNED-PAYLOAD"
  /// The SHA-256 of nothing.
  static let emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  private static let algorithm = "AWS4-HMAC-SHA256"

  /// Makes a signer.
  public init(_ credentials: S3Credentials, region: String, service: String = "s3") {
    self.credentials = credentials
    self.region = region
    self.service = service
  }

  /// Signs a request with all the headers it has, and adds those that the signature needs.
  /// - Parameters:
  ///   - request: what is signed.
  ///   - payload: the SHA-256 of the body in hexadecimal, or ``unsignedPayload``.
  ///   - seconds: the Unix time of the signature, by the server's clock.
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

  /// An address with which anybody can do what the request says, for a while.
  /// - Parameters:
  ///   - request: what is done with it.
  ///   - lifetime: in seconds, 1 to 604800 (seven days).
  ///   - seconds: the Unix time from which it counts.
  /// - Throws: ``UploadsError`` with code `.invalidArgument`.
  public func presignedURL(
    for request: S3Request, lifetime: Int, at seconds: Int64
  ) throws(UploadsError) -> String {
    guard (1...604_800).contains(lifetime) else {
      throw UploadsError(.invalidArgument, "an address is good for 1 s to 7 days, not \(lifetime) s")
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

  /// Names in small letters, values without surplus blanks, those of one name together; in order.
  private static func canonicalHeaders(of request: S3Request) -> [(name: String, value: String)] {
    let headers = [("host", request.authority)] + request.headers.map { ($0.name, $0.value) }
    let named = Dictionary(grouping: headers.map { ($0.0.lowercased(), collapsed($0.1)) }, by: \.0)
    return named.map { (name: $0.key, value: $0.value.map(\.1).joined(separator: ",")) }.sorted { $0.name < $1.name }
  }

  private static func collapsed(_ value: String) -> String {
    value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }
}

/// A time in UTC, by the Gregorian calendar whatever the system's locale.
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

  /// The Unix time that a `Date` header gives, such as `Fri, 24 May 2013 00:00:00 GMT` (RFC 9110, 5.6.7); `nil` when
  /// it is not one.
  static func seconds(ofDateHeader header: String) -> Int64? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let words = header.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else { return nil }
    let numbers = ([words[1], words[3]] + words[4].split(separator: ":")).map { Int32($0) }
    guard numbers.count == 5, let day = numbers[0], let year = numbers[1], (1970...9999).contains(year),
      let hour = numbers[2], let minute = numbers[3], let second = numbers[4]
    else { return nil }
    var parts = tm()
    (parts.tm_mday, parts.tm_mon, parts.tm_year) = (day, Int32(month), year - 1900)
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
    return Int64(timegm(&parts))
  }
}
