public import SpeedTest

extension SpeedTestClient {
  /// Creates a client of the measurement server that a control server has granted.
  ///
  /// Without TLS where the server announces none.
  /// - Parameter test: The test as it was granted.
  public init(_ test: ControlTest) {
    self.init(host: test.host, port: test.port)
    grantedToken = test.token
    usesHTTPUpgrade = test.kind == .http
    if test.isEncrypted { transport = .tls(certificates: nil) }
  }
}

extension SpeedTestPlan {
  /// Creates the plan of a test that a control server has granted.
  /// - Parameters:
  ///   - test: The test as it was granted; what its server leaves open has the defaults of this library.
  ///   - threads: The number of connections in place of the granted one, in ``allowedThreads``.
  ///   - seconds: The duration of each direction in place of the granted one, in ``allowedSeconds``.
  /// - Throws: `SpeedTestError` with code `.invalidArgument` for a number out of its range.
  public init(_ test: ControlTest, threads: Int? = nil, seconds: Int? = nil) throws(SpeedTestError) {
    try self.init(threads: threads ?? test.size.threads ?? 3, seconds: seconds ?? test.size.seconds ?? 7)
    if let smallest = test.size.pings { pings = smallest...max(smallest, pings.upperBound) }
  }
}
