extension Device {
  /// A PSM that nothing is expected to serve: the last one that the kernel accepts.
  private static let unusedPSM: UInt16 = 0xff

  /// Returns `true` if the keys shared with the device provide a security level on the present connection.
  ///
  /// bluetoothd reports that devices are paired, and not how. The kernel knows, and sends a request for an L2CAP channel
  /// only over a connection with the channel's security; so any response, a refusal included, proves the level. Where the
  /// keys suffice and the connection was encrypted for less, the kernel encrypts it again. Where they do not suffice, it
  /// tries to pair again, for which the session's pairing agent is asked, and the connection may end.
  ///
  /// ```swift
  /// if try await device.provides(.fips) { print("paired by passkey or comparison, with LE Secure Connections") }
  /// ```
  /// - Parameters:
  ///   - level: The security level.
  ///   - timeout: The longest time for the response; `false` is returned when there is none.
  /// - Throws: ``BlueZError`` with code `.staleHandle`, `.notConnected`, `.connectFailed` or `.notSupported`; or
  ///   `CancellationError`.
  public func provides(_ level: SecurityLevel, timeout: Duration = .seconds(5)) async throws -> Bool {
    do {
      try await openChannel(psm: Self.unusedPSM, security: level, timeout: timeout).close()
      return true
    } catch let error as BlueZError {
      switch error.code {
      case .channelRefused: return true
      case .authenticationFailed, .timedOut: return false
      default: throw error
      }
    }
  }
}
