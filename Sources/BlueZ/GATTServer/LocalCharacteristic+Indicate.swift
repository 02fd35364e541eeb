import Streams

extension LocalCharacteristic {
  /// Sends a value and waits until it is confirmed: the centrals' stacks have it.
  ///
  /// From BlueZ 5.80 everyone who is subscribed must have confirmed. Before, bluetoothd does not say who did, and the
  /// first confirmation counts. A central that asked for notifications, where the flags offer both, gets one, and
  /// confirms nothing.
  /// - Parameters:
  ///   - value: at most 512 bytes.
  ///   - timeout: how long to wait for the confirmation; ATT itself gives up after 30 s, and ends the link.
  /// - Throws: ``BlueZError``: `.notSupported` without the flag ``CharacteristicFlags/indicate``, and on BlueZ 5.74 to
  ///   5.79, which loses confirmations; `.inProgress` while another indication waits (ATT permits one);
  ///   `.notConnected` when nobody is subscribed or everyone left before they confirmed; `.timedOut`;
  ///   `.invalidArgument` as ``notify(_:timeout:)``; `CancellationError`.
  public func indicate(_ value: [UInt8], timeout: Duration = .seconds(30)) async throws {
    guard flags.contains(.indicate) else { throw BlueZError(.notSupported, "\(uuid) does not indicate") }
    let (events, source) = BoundedStream.make(of: Confirmations.Event.self, limit: 64, policy: .dropNewest)
    let links = try state.withLock { state in
      if let version = state.version, !version.has(.confirmsIndications) {
        throw BlueZError(
          .notSupported, "BlueZ \(version) loses confirmations of indications",
          hint: "BlueZ 5.80 does not; or send with `notify`, without waiting")
      }
      guard state.indication == nil else { throw BlueZError(.inProgress, "an indication of \(uuid) is on its way") }
      let links = try recipients(of: value, in: state)
      state.indication = source
      return links
    }
    defer { state.withLock { $0.indication = nil } }
    let left = try await send(value, over: links, timeout: timeout)
    try await withTimeout(timeout, "the confirmation of an indication of \(uuid)") { [uuid] in
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
    BlueZError(.notConnected, "everyone subscribed to \(uuid) left before they confirmed")
  }

  /// A central has confirmed.
  /// - Parameter link: its socket, from BlueZ 5.80.
  func confirmed(by link: Int?) {
    state.withLock { $0.indication }?.yield(.confirmed(link))
  }
}

extension CharacteristicFlags {
  /// Those with which a characteristic sends values by itself.
  static let subscription: CharacteristicFlags = [.notify, .indicate]
}
