public import SpeedTest

/// The result of a test, with the connections that it used.
public struct SpeedTestReport: Sendable, Hashable {
  /// The result, complete or as far as the test came.
  public var result: SpeedTestResult
  /// The ends of the connections; `nil` when none was authorised.
  public var connection: SpeedTestConnectionInfo?

  init(result: SpeedTestResult, connection: SpeedTestConnectionInfo?) {
    self.result = result
    self.connection = connection
  }

  /// Creates the report of a test that was stored.
  public init(_ record: SpeedTestRecord) {
    result = record.result
    connection = record.ends.map {
      SpeedTestConnectionInfo(
        serverAddress: $0.server, localAddress: $0.local, serverVersion: $0.version, tlsVersion: $0.tls)
    }
  }

  /// Returns the record of the test, to be stored.
  /// - Parameters:
  ///   - server: The server as the user has named it.
  ///   - startMs: The wall-clock time of the start, in milliseconds since 1970.
  ///   - durationMs: The duration of the whole test in milliseconds.
  public func record(server: String, startMs: Int64, durationMs: Int64) -> SpeedTestRecord {
    var record = SpeedTestRecord(result, server: server, startMs: startMs, durationMs: durationMs)
    record.ends = connection.map {
      .init(server: $0.serverAddress, local: $0.localAddress, version: $0.serverVersion, tls: $0.tlsVersion)
    }
    return record
  }
}
