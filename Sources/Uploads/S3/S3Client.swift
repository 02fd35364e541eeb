internal import Streams
public import Timing

/// Speaks S3 with one server: signs, sends, and says what the answer means.
///
/// It learns what a server does not say beforehand: by how much its clock differs, in which region a bucket is, and
/// whether it knows conditional requests.
public final class S3Client: Sendable {
  /// Where the server is.
  public let endpoint: S3Endpoint
  private let transport: any S3Transport
  private let unixMs: @Sendable () -> Int64
  let learned = Lock(Learned())

  struct Learned: Sendable {
    /// What is to be added to this machine's clock, in seconds.
    var skew: Int64 = 0
    /// The region of a bucket, where it is not the endpoint's.
    var regions: [String: String] = [:]
    /// Whether `If-None-Match` and `If-Match` are understood.
    var hasConditions = true
    /// Whether the server has shown that it checks and returns SHA-256.
    var returnsChecksums = false
  }

  /// Makes a client; connects to nothing yet.
  /// - Parameters:
  ///   - endpoint: where the server is.
  ///   - transport: carries the requests.
  ///   - unixMs: this machine's clock, in milliseconds since 1970.
  public init(
    _ endpoint: S3Endpoint, transport: any S3Transport,
    unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds
  ) {
    self.endpoint = endpoint
    self.transport = transport
    self.unixMs = unixMs
  }

  private var unixSeconds: Int64 { unixMs() / 1000 }

  /// By how many seconds the server's clock is ahead of this machine's, as far as it mattered.
  public var clockSkew: Int64 { learned.withLock { $0.skew } }

  /// Signs and sends a request.
  /// - Parameters:
  ///   - bucket: what it is about, for its region.
  ///   - payload: the SHA-256 of the body in hexadecimal.
  ///   - progress: called for each time that it is sent.
  /// - Returns: an answer with a status of 200 to 299.
  /// - Throws: ``UploadsError``, `CancellationError`.
  func perform(
    _ request: S3Request, bucket: String, payload: String = RequestSigner.emptyPayload,
    credentials: S3Credentials, progress: () -> S3Progress = { S3Progress() }
  ) async throws -> S3Answer {
    var hasLearned = false
    while true {
      let (skew, region) = (clockSkew, region(of: bucket, credentials))
      var signed = request
      signed.authority = endpoint.authority(of: request, in: region)
      RequestSigner(credentials, region: region).sign(&signed, payload: payload, at: unixSeconds + skew)
      let answer = try await transport.send(signed, progress())
      if (200..<300).contains(answer.status) { return answer }
      let error = UploadsError(answer, to: request)
      // Once: what was learned helps at once, or not at all.
      if !hasLearned, learn(from: answer, error, bucket, region) {
        hasLearned = true
      } else {
        throw error
      }
    }
  }

  /// Where a bucket is: as the server has said, or who gave the credentials, or else the endpoint.
  func region(of bucket: String, _ credentials: S3Credentials) -> String {
    learned.withLock { $0.regions[bucket] } ?? credentials.scope?.region(of: bucket) ?? endpoint.region
  }

  /// - Returns: whether the request may succeed now.
  private func learn(from answer: S3Answer, _ error: UploadsError, _ bucket: String, _ region: String) -> Bool {
    // A HEAD has no body to name the cause: whether the clocks differ can be seen.
    if let server = answer.headers["date"].flatMap(SignatureTime.seconds(ofDateHeader:)),
      error.code == .clockSkew || answer.status == 403
    {
      let skew = server - unixSeconds
      let isNew = abs(skew - learned.withLock { $0.skew }) > Self.skewLimit
      if isNew { learned.withLock { $0.skew = skew } }
      if isNew { return true }
    }
    // The header is AWS's; others say it in the error only.
    let named =
      answer.headers["x-amz-bucket-region"]
      ?? (error.serverCode == "AuthorizationHeaderMalformed" ? XMLElement(answer.body)?["Region"] : nil)
    if let actual = named, actual != region, [301, 307, 400, 403].contains(answer.status) {
      do { try S3Endpoint.check(region: actual) } catch { return false }
      learned.withLock { $0.regions[bucket] = actual }
      return true
    }
    return false
  }

  /// A difference of the clocks that is none, in seconds: AWS allows for 15 minutes.
  private static let skewLimit: Int64 = 60

  /// Runs a request under a condition, in the way this server knows.
  /// - Parameters:
  ///   - condition: by itself that there is no such object.
  ///   - send: sends it with these headers.
  /// - Returns: `nil` when the server knows no conditions.
  func conditional(
    on condition: (name: String, value: String) = ("If-None-Match", "*"),
    _ send: ([(name: String, value: String)]) async throws -> S3Answer
  ) async throws -> S3Answer? {
    guard learned.withLock({ $0.hasConditions }) else { return nil }
    do {
      return try await send([condition])
    } catch let error as UploadsError where error.status == 501 && error.code == .refused {
      learned.withLock { $0.hasConditions = false }
      return nil
    }
  }
}
