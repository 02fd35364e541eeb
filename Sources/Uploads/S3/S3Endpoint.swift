internal import FoundationEssentials

/// The location of an S3 server: its URL, its region and the position of bucket names in URLs.
///
/// ```swift
/// let aws = try S3Endpoint(awsRegion: "eu-central-1")
/// let local = try S3Endpoint("http://127.0.0.1:8333")
/// print(aws.url, local.region)  // https://s3.eu-central-1.amazonaws.com us-east-1
/// ```
public struct S3Endpoint: Sendable, Hashable {
  /// The position of a bucket's name in URLs.
  public enum Addressing: String, Sendable, Hashable, CaseIterable {
    /// The bucket is in the path, as most servers other than AWS require: `http://host/bucket/key`.
    case path
    /// The bucket is in the host, as AWS requires: `https://bucket.host/key`.
    case virtualHost = "virtual-host"
  }

  /// The scheme of the URL: `http` or `https`.
  public let scheme: String
  /// The host, with the port unless it is the default of the scheme.
  public let authority: String
  /// The region that requests are signed for, such as `us-east-1`.
  public let region: String
  /// The position of a bucket's name in URLs.
  public let addressing: Addressing

  /// Creates the endpoint of AWS in a region.
  /// - Parameter region: The region, such as `eu-central-1`.
  /// - Throws: ``UploadsError`` with code `.invalidArgument`.
  public init(awsRegion region: String) throws(UploadsError) {
    try self.init("https://s3.\(region).amazonaws.com", region: region, addressing: .virtualHost)
  }

  /// Creates the endpoint of any S3 server.
  /// - Parameters:
  ///   - url: The scheme, host and port of the server, such as `http://127.0.0.1:8333`.
  ///   - region: The region that requests are signed for; most servers other than AWS accept any.
  ///   - addressing: The position of a bucket's name in URLs.
  /// - Throws: ``UploadsError`` with code `.invalidArgument`.
  public init(
    _ url: String, region: String = "us-east-1", addressing: Addressing = .path
  ) throws(UploadsError) {
    guard let parsed = URLComponents(string: url), let scheme = parsed.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parsed.encodedHost, !host.isEmpty
    else {
      throw UploadsError(
        .invalidArgument,
        "the endpoint is \(url.namedURL); allowed: an http or https URL, such as https://s3.eu-central-1.amazonaws.com")
    }
    guard parsed.user == nil, parsed.password == nil, parsed.query == nil, parsed.fragment == nil,
      parsed.path.isEmpty || parsed.path == "/"
    else {
      throw UploadsError(.invalidArgument, "the endpoint is \(url.namedURL); allowed: only a scheme, a host and a port")
    }
    guard parsed.hasPossiblePort else {
      throw UploadsError(.invalidArgument, "the endpoint is “\(url)”; allowed: a port from 1 to 65535")
    }
    try Self.check(region: region)
    let usual = scheme == "https" ? 443 : 80
    self.scheme = scheme
    authority = host.lowercased() + (parsed.port.flatMap { $0 == usual ? nil : ":\($0)" } ?? "")
    self.region = region
    self.addressing = addressing
  }

  /// The URL of the server, without a path.
  public var url: String { "\(scheme)://\(authority)" }

  /// Returns a request for an object, or for the bucket itself if there is no key.
  func request(
    _ method: String, bucket: String, key: String? = nil, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], body: S3Request.Body = .none
  ) -> S3Request {
    // A wildcard certificate covers one label, and so no bucket with dots.
    let inHost = addressing == .virtualHost && !(scheme == "https" && bucket.contains("."))
    let path = (inHost ? [] : [bucket]) + (key.map { [$0] } ?? (inHost ? [""] : []))
    var request = S3Request(
      method, scheme: scheme, authority: inHost ? "\(bucket).\(authority)" : authority,
      path: "/" + path.joined(separator: "/").percentEncoded(slashes: false), query: query, headers: headers)
    request.body = body
    return request
  }

  /// Returns the host of a request whose bucket is in another region: AWS has a host for each region.
  func authority(of request: S3Request, in region: String) -> String {
    let own = "s3.\(self.region).amazonaws.com"
    // A server's response must not lead to another host.
    let isName = region.utf8.allSatisfy { $0.isSmallAlphanumeric || $0 == UInt8(ascii: "-") }
    guard isName, authority == own, request.authority.hasSuffix(own) else { return request.authority }
    return request.authority.dropLast(own.count) + "s3.\(region).amazonaws.com"
  }

  /// Refuses an invalid region name.
  static func check(region: String) throws(UploadsError) {
    guard !region.isEmpty, region.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") }) else {
      throw UploadsError(
        .invalidArgument, "the region is “\(region)”; allowed: printable ASCII without spaces and slashes")
    }
  }

  /// Refuses an invalid bucket name.
  package static func check(bucket: String) throws(UploadsError) {
    guard (3...63).contains(bucket.utf8.count),
      bucket.utf8.allSatisfy({ $0.isSmallAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }),
      bucket.utf8.first?.isSmallAlphanumeric == true, bucket.utf8.last?.isSmallAlphanumeric == true
    else {
      throw UploadsError(
        .invalidArgument,
        "the bucket is “\(bucket)”; allowed: 3 to 63 lowercase letters, digits, dots and hyphens, with a letter or digit "
          + "at both ends")
    }
  }

  /// Refuses an invalid key, and one that a server could take for another.
  package static func check(key: String) throws(UploadsError) {
    guard (1...1024).contains(key.utf8.count), !key.utf8.contains(0) else {
      throw UploadsError(
        .invalidArgument, "the key “\(key)” has \(key.utf8.count) bytes; allowed: 1 to 1024, none of them zero")
    }
    // Proxies and servers remove such parts from a path: the signature is then wrong, or the object is another one.
    let parts = key.utf8.split(separator: UInt8(ascii: "/"))
    guard !parts.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
      throw UploadsError(
        .invalidArgument, "the key “\(key)” has a part “.” or “..”; allowed: any other part between slashes")
    }
  }
}

extension UInt8 {
  /// A Boolean value that indicates whether the byte is `a` to `z` or `0` to `9` in ASCII.
  var isSmallAlphanumeric: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
  }
}
