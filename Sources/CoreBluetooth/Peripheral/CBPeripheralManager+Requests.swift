import BlueZ

extension CBPeripheralManager {
  /// The number of values that wait to be handed to bluetoothd before the app is asked to wait.
  private static let window = 16

  /// Responds to a request of a central; a second response has no effect.
  ///
  /// bluetoothd passes on the reasons that `AttributeRefusal` has; any other error reaches the central as
  /// ``CBATTError/Code/unlikelyError``.
  public func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    request.respond(result)
  }

  /// Sends a value to subscribed centrals, as a notification or an indication.
  /// - Parameters:
  ///   - value: The value; what is longer than the smallest `maximumUpdateValueLength` is cut off.
  ///   - characteristic: The characteristic, of a service that was added.
  ///   - centrals: The centrals that are to get it; `nil` is all of them. Before BlueZ 5.76 a value for some of the
  ///     subscribers cannot be sent, and is dropped with a line in the log.
  /// - Returns: `false` when there is no room for the value; the delegate is told when there is.
  public func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    guard let local = characteristic.local else {
      Radio.logger.error("updateValue: the service of \(characteristic.uuid.uuidString) was not added")
      return false
    }
    let hasRoom = shared.withLock { shared in
      guard shared.waitingValues < Self.window else {
        shared.isFull = true
        return false
      }
      shared.waitingValues += 1
      return true
    }
    guard hasRoom else { return false }
    let subscribers = Set((characteristic.subscribedCentrals ?? []).map(\.peer))
    let meant = centrals.map { Set($0.map(\.peer)) }
    values.enqueue { [weak self] in
      do {
        try await Self.send(Array(value), over: local, to: meant.flatMap { $0.isSuperset(of: subscribers) ? nil : $0 })
      } catch {
        Radio.logger.warning("a value was not sent", metadata: ["error": "\(error)"])
      }
      self?.valueWasSent()
    }
    return true
  }

  private static func send(_ value: [UInt8], over local: LocalCharacteristic, to peers: Set<Peer>?) async throws {
    // Without subscribers there is nobody to send it to, which is no failure.
    guard let longest = local.longestNotification else { return }
    let value = Array(value.prefix(longest))
    guard let peers else { return try await local.notify(value) }
    for peer in peers { try await local.notify(value, to: peer) }
  }

  private func valueWasSent() {
    let isReady = shared.withLock { shared in
      shared.waitingValues -= 1
      guard shared.isFull, shared.waitingValues <= Self.window / 2 else { return false }
      shared.isFull = false
      return true
    }
    guard isReady else { return }
    callbacks.post { [weak self] in
      if let self { delegate?.peripheralManagerIsReady(toUpdateSubscribers: self) }
    }
  }

  // MARK: Requests of centrals

  func reader(of characteristic: CBMutableCharacteristic) -> @Sendable (ReadRequest) async throws -> [UInt8] {
    // bluetoothd knows properties alone, and would permit what they announce.
    guard !characteristic.permissions.isDisjoint(with: [.readable, .readEncryptionRequired]) else {
      return { _ in throw AttributeRefusal.notPermitted }
    }
    if let fixed = characteristic.value { return { _ in Array(fixed) } }
    return { [weak self, weak characteristic] read in
      guard let self, let characteristic else { throw AttributeRefusal.failed }
      let request = CBATTRequest(CBCentral(read.peer, mtu: read.mtu), characteristic)
      callbacks.post { [weak self] in
        guard let self, let delegate else { return request.respond(.requestNotSupported) }
        delegate.peripheralManager(self, didReceiveRead: request)
      }
      try await request.response()
      return Array(request.value ?? Data())
    }
  }

  func writer(of characteristic: CBMutableCharacteristic) -> @Sendable (WriteRequest) async throws -> Void {
    guard !characteristic.permissions.isDisjoint(with: [.writeable, .writeEncryptionRequired]) else {
      return { _ in throw AttributeRefusal.notPermitted }
    }
    return { [weak self, weak characteristic] write in
      guard let self, let characteristic else { throw AttributeRefusal.failed }
      let central = CBCentral(write.peer, mtu: write.mtu)
      let request = CBATTRequest(central, characteristic, offset: write.offset, value: Data(write.value))
      callbacks.post { [weak self] in
        guard let self, let delegate else { return request.respond(.requestNotSupported) }
        delegate.peripheralManager(self, didReceiveWrite: [request])
      }
      // Nobody waits for the outcome of a write without response.
      if write.kind != .command { try await request.response() }
    }
  }
}
