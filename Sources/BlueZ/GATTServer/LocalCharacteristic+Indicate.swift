import Streams

extension LocalCharacteristic {
  /// Sends a value as an indication and waits until it is confirmed, which means that the centrals' stacks have
  /// received it.
  ///
  /// From BlueZ 5.80 on every subscriber must confirm. Before, bluetoothd does not report who confirmed, and the first
  /// confirmation counts. A central that subscribed to notifications, where the flags permit both, receives one and
  /// confirms nothing.
  /// - Parameters:
  ///   - value: The value, at most 512 bytes.
  ///   - timeout: The longest time to wait for the confirmation; ATT itself fails after 30 s, and ends the connection.
  /// - Throws: ``BlueZError``: `.notSupported` without the flag ``CharacteristicFlags/indicate``, and on BlueZ 5.74 to
  ///   5.79, which loses confirmations; `.inProgress` while another indication waits (ATT permits one); `.notConnected`
  ///   without a subscriber, or when all disconnected before they confirmed; `.timedOut`; `.invalidArgument` as in
  ///   ``notify(_:timeout:)``; `CancellationError`.
  public func indicate(_ value: [UInt8], timeout: Duration = .seconds(30)) async throws {
    guard flags.contains(.indicate) else { throw BlueZError(.notSupported, "\(uuid) does not send indications") }
    let (events, source) = BoundedStream.make(of: Confirmations.Event.self, limit: 64, policy: .dropNewest)
    let links = try state.withLock { state in
      if let version = state.version, !version.has(.confirmsIndications) {
        throw BlueZError(
          .notSupported, "BlueZ \(version) loses confirmations of indications",
          hint: "use BlueZ 5.80, or send with `notify`, without confirmation")
      }
      guard state.indication == nil else {
        throw BlueZError(.inProgress, "an earlier indication of \(uuid) is not confirmed yet")
      }
      let links = try recipients(of: value, in: state)
      state.indication = source
      return links
    }
    defer { state.withLock { $0.indication = nil } }
    let left = try await send(value, over: links, timeout: timeout)
    try await withTimeout(timeout, "waiting for the confirmation of an indication of \(uuid)") { [uuid] in
      var confirmations = Confirmations(of: links.map(\.id))
      for link in left where confirmations.handle(.left(link)) == .fail { throw Self.abandoned(uuid) }
      for await event in events {
        switch confirmations.handle(event) {
        case .wait: break
        case .finish: return
        case .fail: throw Self.abandoned(uuid)
        }
      }
      throw CancellationError()
    }
  }

  private static func abandoned(_ uuid: BluetoothUUID) -> BlueZError {
    BlueZError(.notConnected, "all subscribers of \(uuid) disconnected before they confirmed")
  }

  /// Handles the confirmation of a central.
  /// - Parameter link: The identifier of its socket, from BlueZ 5.80 on.
  func confirmed(by link: Int?) {
    state.withLock { $0.indication }?.yield(.confirmed(link))
  }
}

extension CharacteristicFlags {
  /// The flags of a characteristic that sends values by itself.
  static let subscription: CharacteristicFlags = [.notify, .indicate]
}
