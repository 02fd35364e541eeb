public import SpeedTest

/// The result of a test, with the connections that it used.
public struct SpeedTestReport: Sendable, Hashable {
  /// The result, complete or as far as the test came.
  public var result: SpeedTestResult
  /// The ends of the connections; `nil` when none was authorised.
  public var connection: SpeedTestConnectionInfo?

  /// The bytes that the interface has carried meanwhile; `nil` if they are unknown.
  public var traffic: InterfaceTraffic?

  init(result: SpeedTestResult, connection: SpeedTestConnectionInfo?, traffic: InterfaceTraffic?) {
    self.result = result
    self.connection = connection
    self.traffic = traffic
  }

  /// Creates the report of a test that was stored.
  public init(_ record: SpeedTestRecord) {
    result = record.result
    connection = record.ends.map {
      SpeedTestConnectionInfo(
        serverAddress: $0.server, localAddress: $0.local, serverVersion: $0.version, interface: $0.interface,
        tlsVersion: $0.tls, cipher: $0.cipher)
    }
    traffic = record.traffic
  }

  /// Returns the record of the test, to be stored.
  /// - Parameters:
  ///   - server: The server as the user has named it.
  ///   - startMs: The wall-clock time of the start, in milliseconds since 1970.
  ///   - durationMs: The duration of the whole test in milliseconds.
  public func record(server: String, startMs: Int64, durationMs: Int64) -> SpeedTestRecord {
    var record = SpeedTestRecord(result, server: server, startMs: startMs, durationMs: durationMs)
    record.ends = connection.map {
      var ends = SpeedTestRecord.Ends(
        server: $0.serverAddress, local: $0.localAddress, version: $0.serverVersion, tls: $0.tlsVersion)
      ends.cipher = $0.cipher
      ends.interface = $0.interface
      return ends
    }
    record.traffic = traffic
    return record
  }
}
