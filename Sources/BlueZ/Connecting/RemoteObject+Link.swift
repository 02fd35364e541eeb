import DBus
import Logging
import Streams

extension RemoteObject {
  /// Ends a link to this device that nobody needs any more, once its peer has responded where the kernel must not lose it
  /// before; see `Device.waitForRequest()`.
  /// - Parameters:
  ///   - link: The link, which is among those that have begun to end.
  ///   - interface: The interface whose `Disconnect` ends the link.
  ///   - responseTimeout: The longest time to wait for a response; `nil` for not at all.
  func endLink(
    _ link: LateDisconnections.Link, through interface: String, responseTimeout: Duration?, _ logger: Logger
  ) async {
    do {
      if let responseTimeout { try await waitForResponse(responseTimeout) }
      try await call(interface, "Disconnect", returning: "")
      LateDisconnections.shared.request(link, wasUnanswered: true)
    } catch {
      logger.debug("the link to \(path) was not ended", metadata: ["error": "\(error)"])
      LateDisconnections.shared.ended(link)
    }
  }

  /// Waits until bluetoothd has read the services of this device, or a time has passed.
  /// - Throws: ``BlueZError`` with code `.notConnected` if the link has ended meanwhile: the next one is another one.
  private func waitForResponse(_ timeout: Duration) async throws {
    let changes = WakeSignal()
    let subscription = try await connection.observe(
      MatchRule(sender: destination, path: path, interface: InterfaceName.properties, member: "PropertiesChanged"),
      onEnd: { changes.finish() }
    ) { _ in changes.signal() }
    defer { subscription.cancel() }
    changes.signal()
    do {
      try await withTimeout(timeout, "waiting for a response of \(path)") {
        for await _ in changes.signals {
          let device = try await getAll(InterfaceName.device)
          guard device["Connected"]?.bool == true else {
            throw BlueZError(.notConnected, "the link to \(path) has ended by itself")
          }
          if device["ServicesResolved"]?.bool == true { return }
        }
      }
    } catch let error as BlueZError where error.code == .timedOut {
      // bluetoothd has given its request up by now; a peer that never responds must not keep the link for ever.
    }
  }
}
