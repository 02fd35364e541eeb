internal import Streams
public import Timing

/// A client of one S3 server: signs requests, sends them and interprets the responses.
///
/// The client learns from responses what a server does not announce: its clock skew, the region of a bucket, and support
/// for conditional requests.
///
/// ```swift
/// func list(_ bucket: String, over transport: any S3Transport, as credentials: S3Credentials) async throws {
///   let client = S3Client(try S3Endpoint(awsRegion: "eu-central-1"), transport: transport)
///   var page = try await client.list(bucket: bucket, prefix: "ada/", credentials: credentials)
///   while true {
///     for entry in page.entries { print(entry.key, entry.size) }
///     guard let next = page.next else { break }
///     page = try await client.list(bucket: bucket, prefix: "ada/", after: next, credentials: credentials)
///   }
/// }
/// ```
public final class S3Client: Sendable {
  /// The URL, region and addressing of the server.
  public let endpoint: S3Endpoint
  private let transport: any S3Transport
  private let unixMs: @Sendable () -> Int64
  let learned = Lock(Learned())

  struct Learned: Sendable {
    /// The server's clock minus this host's clock, in seconds.
    var skew: Int64 = 0
    /// The region of a bucket, if it is not the endpoint's.
    var regions: [String: String] = [:]
    /// The conditions that the server refuses as not implemented: each is a method and a header.
    var refusedConditions: Set<Condition> = []
    /// The behaviour of the server under the condition that no object exists, by the way in which objects are created.
    var verdicts: [Creation: UploadServer.Condition] = [:]
    /// A Boolean value that indicates whether the server was asked for its behaviour on completing parts.
    var hasProbedParts = false
    /// A Boolean value that indicates whether the server has returned the SHA-256 of an upload.
    var returnsChecksums = false
  }

  /// A condition of a request. Swift keeps `If-None-Match` beside a `PUT`, and refuses `If-Match`.
  struct Condition: Sendable, Hashable {
    var method: String
    var header: String
  }

  /// Creates a client without connecting.
  /// - Parameters:
  ///   - endpoint: The URL, region and addressing of the server.
  ///   - transport: The transport for requests, such as `S3HTTPTransport` of `UploadsHTTP`.
  ///   - unixMs: The wall clock, in Unix milliseconds.
  public init(
    _ endpoint: S3Endpoint, transport: any S3Transport,
    unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds
  ) {
    self.endpoint = endpoint
    self.transport = transport
    self.unixMs = unixMs
  }

  private var unixSeconds: Int64 { unixMs() / 1000 }

  /// The clock skew in seconds: the server's clock minus this host's; 0 until a request fails because of it.
  public var clockSkew: Int64 { learned.withLock { $0.skew } }

  /// Signs and sends a request.
  /// - Parameters:
  ///   - bucket: The bucket of the request, for its region.
  ///   - payload: The SHA-256 of the body in hexadecimal.
  ///   - progress: A closure that returns the handlers of each transmission.
  /// - Returns: A response with a status from 200 to 299.
  /// - Throws: ``UploadsError``, `CancellationError`.
  func perform(
    _ request: S3Request, bucket: String, payload: String = RequestSigner.emptyPayload,
    credentials: S3Credentials, progress: () -> S3Progress = { S3Progress() }
  ) async throws -> S3Response {
    var hasLearned = false
    // A skew that no error code names is tried for one request, and kept if the server accepts the signature then.
    var tried: Int64?
    while true {
      let skew = tried ?? clockSkew
      let region = region(of: bucket, credentials)
      var signed = request
      signed.authority = endpoint.authority(of: request, in: region)
      RequestSigner(credentials, region: region).sign(&signed, payload: payload, at: unixSeconds + skew)
      let response = try await transport.send(signed, progress()).without(credentials)
      if let tried, Self.isAccepted(response.status) { learned.withLock { $0.skew = tried } }
      if (200..<300).contains(response.status) { return response }
      let error = UploadsError(response, to: request)
      // Once: the lesson helps at once, or not at all.
      guard !hasLearned else { throw error }
      hasLearned = true
      if learn(from: response, error, bucket, region) { continue }
      guard [.forbidden, .badCredentials].contains(error.code), let skew = statedSkew(in: response),
        abs(skew - clockSkew) > Self.toleratedSkew
      else { throw error }
      tried = skew
    }
  }

  /// Returns whether the server has accepted a request's signature, by the status of its response.
  private static func isAccepted(_ status: Int) -> Bool { (200..<300).contains(status) || [404, 412].contains(status) }

  /// Returns the server's clock minus this host's, in seconds, as a response has it; `nil` if it has none, or one that is
  /// not to be believed.
  private func statedSkew(in response: S3Response) -> Int64? {
    guard let server = response.headers["date"].flatMap(SignatureTime.seconds(ofDateHeader:)) else { return nil }
    let skew = server - unixSeconds
    return abs(skew) <= Self.longestSkew ? skew : nil
  }

  /// Returns the region of a bucket: the server's, else that of the credentials' scope, else the endpoint's.
  func region(of bucket: String, _ credentials: S3Credentials) -> String {
    learned.withLock { $0.regions[bucket] } ?? credentials.scope?.region(of: bucket) ?? endpoint.region
  }

  /// - Returns: `true` if the request may succeed now.
  private func learn(from response: S3Response, _ error: UploadsError, _ bucket: String, _ region: String) -> Bool {
    // A response without a body, as to HEAD, cannot name the cause; one that names another cause sets no clock.
    let mayBeSkewed = error.code == .clockSkew || response.status == 403 && response.body.isEmpty
    if mayBeSkewed, let skew = statedSkew(in: response) {
      let isNew = abs(skew - learned.withLock { $0.skew }) > Self.skewLimit
      if isNew { learned.withLock { $0.skew = skew } }
      if isNew { return true }
    }
    // The header is AWS's; other servers name the region in the error only.
    let named =
      response.headers["x-amz-bucket-region"]
      ?? (error.serverCode == "AuthorizationHeaderMalformed" ? XMLElement(response.body)?["Region"] : nil)
    if let actual = named, actual != region, [301, 307, 400, 403].contains(response.status) {
      do { try S3Endpoint.check(region: actual) } catch { return false }
      learned.withLock { $0.regions[bucket] = actual }
      return true
    }
    return false
  }

  /// The largest clock skew in seconds that is corrected: a day. A server must not make this host sign for another year.
  private static let longestSkew: Int64 = 86400

  /// The clock skew in seconds that servers tolerate: 15 min.
  private static let toleratedSkew: Int64 = 900

  /// The clock skew in seconds that is ignored; AWS tolerates 15 minutes.
  private static let skewLimit: Int64 = 60

  /// Sends a request under a condition, if the server supports it.
  /// - Parameters:
  ///   - condition: The header with the condition; by default, that the object does not exist.
  ///   - method: The HTTP method of the request; by default, `PUT`.
  ///   - send: A closure that sends the request with additional headers.
  /// - Returns: The response; `nil` if the server does not support the condition.
  func conditional(
    on condition: (name: String, value: String) = ("If-None-Match", "*"), beside method: String = "PUT",
    _ send: ([(name: String, value: String)]) async throws -> S3Response
  ) async throws -> S3Response? {
    let kind = Condition(method: method, header: condition.name)
    guard !learned.withLock({ $0.refusedConditions.contains(kind) }) else { return nil }
    do {
      return try await send([condition])
    } catch let error as UploadsError where error.status == 501 && error.code == .refused {
      learned.withLock {
        $0.refusedConditions.insert(kind)
        if condition.name == "If-None-Match" { $0.verdicts[method == "PUT" ? .whole : .parts] = .refused }
      }
      return nil
    }
  }
}
