internal import FoundationEssentials

/// Where a server is, and how its buckets are named in an address.
public struct S3Endpoint: Sendable, Hashable {
  /// Where a bucket's name stands.
  public enum Addressing: String, Sendable, Hashable, CaseIterable {
    /// In the path, as most servers other than AWS want it: `http://host/bucket/key`.
    case path
    /// In the host, as AWS wants it: `https://bucket.host/key`.
    case virtualHost = "virtual-host"
  }

  /// `http` or `https`.
  public let scheme: String
  /// The host, and the port unless it is the scheme's own.
  public let authority: String
  /// What requests are signed for, such as `us-east-1`.
  public let region: String
  /// Where a bucket's name stands.
  public let addressing: Addressing

  /// AWS itself.
  /// - Parameter region: such as `eu-central-1`.
  public init(awsRegion region: String) throws(UploadsError) {
    try self.init("https://s3.\(region).amazonaws.com", region: region, addressing: .virtualHost)
  }

  /// Another server.
  /// - Parameters:
  ///   - url: scheme, host and port, such as `http://127.0.0.1:8333`.
  ///   - region: what the server wants requests to be signed for; most take any.
  ///   - addressing: where a bucket's name stands.
  /// - Throws: ``UploadsError`` with code `.invalidArgument`.
  public init(
    _ url: String, region: String = "us-east-1", addressing: Addressing = .path
  ) throws(UploadsError) {
    guard let parsed = URLComponents(string: url), let scheme = parsed.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parsed.encodedHost, !host.isEmpty
    else {
      throw UploadsError(
        .invalidArgument, "“\(url)” is not the address of a server",
        hint: "write it like https://s3.eu-central-1.amazonaws.com")
    }
    guard parsed.user == nil, parsed.password == nil, parsed.query == nil, parsed.fragment == nil,
      parsed.path.isEmpty || parsed.path == "/"
    else {
      throw UploadsError(.invalidArgument, "the server's address “\(url)” has more than a host and a port")
    }
    try Self.check(region: region)
    let usual = scheme == "https" ? 443 : 80
    self.scheme = scheme
    authority = host.lowercased() + (parsed.port.flatMap { $0 == usual ? nil : ":\($0)" } ?? "")
    self.region = region
    self.addressing = addressing
  }

  /// The address without buckets.
  public var address: String { "\(scheme)://\(authority)" }

  /// A request for an object, or for a bucket itself when there is no key.
  func request(
    _ method: String, bucket: String, key: String? = nil, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], body: S3Request.Body = .none
  ) -> S3Request {
    // TLS certificates are good for one label: a bucket with dots is not in it.
    let inHost = addressing == .virtualHost && !(scheme == "https" && bucket.contains("."))
    let path = (inHost ? [] : [bucket]) + (key.map { [$0] } ?? (inHost ? [""] : []))
    return S3Request(
      method, scheme: scheme, authority: inHost ? "\(bucket).\(authority)" : authority,
      path: "/" + path.joined(separator: "/").percentEncoded(slashes: false), query: query, headers: headers,
      body: body)
  }

  /// The host that a request is for, where its bucket is in another region than this: AWS has one for each.
  func authority(of request: S3Request, in region: String) -> String {
    let own = "s3.\(self.region).amazonaws.com"
    // What a server says must not lead to another host.
    let isName = region.utf8.allSatisfy { $0.isSmallAlphanumeric || $0 == UInt8(ascii: "-") }
    guard isName, authority == own, request.authority.hasSuffix(own) else { return request.authority }
    return request.authority.dropLast(own.count) + "s3.\(region).amazonaws.com"
  }

  /// Refuses what cannot be a region.
  static func check(region: String) throws(UploadsError) {
    guard !region.isEmpty, region.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") }) else {
      throw UploadsError(.invalidArgument, "“\(region)” is not a region")
    }
  }

  /// Refuses what cannot be the name of a bucket (3 to 63 small letters, digits, dots and hyphens).
  static func check(bucket: String) throws(UploadsError) {
    guard (3...63).contains(bucket.utf8.count),
      bucket.utf8.allSatisfy({ $0.isSmallAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }),
      bucket.utf8.first?.isSmallAlphanumeric == true, bucket.utf8.last?.isSmallAlphanumeric == true
    else { throw UploadsError(.invalidArgument, "“\(bucket)” cannot be the name of a bucket") }
  }

  /// Refuses what cannot be the key of an object (1 to 1024 bytes of UTF-8), or what a server would take for another.
  static func check(key: String) throws(UploadsError) {
    guard (1...1024).contains(key.utf8.count), !key.utf8.contains(0) else {
      throw UploadsError(.invalidArgument, "a key has 1 to 1024 bytes, and no zero byte")
    }
    // Proxies and servers take such parts out of a path, and the signature is wrong then, or the object another one.
    let parts = key.utf8.split(separator: UInt8(ascii: "/"))
    guard !parts.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
      throw UploadsError(.invalidArgument, "the key “\(key)” has a part “.” or “..”")
    }
  }
}

extension UInt8 {
  /// Whether it is `a` to `z` or `0` to `9` in ASCII.
  var isSmallAlphanumeric: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
  }
}
