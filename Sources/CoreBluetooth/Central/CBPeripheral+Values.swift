import BlueZ

extension CBPeripheral {
  /// The largest number of writes without response that wait to be sent before the app is asked to wait.
  private static let window = 32
  /// The number of waiting writes from which further ones are dropped: an app that never asks.
  private static let mostWrites = 4096

  // MARK: Characteristics

  /// Reads the value of a characteristic, and tells the delegate.
  public func readValue(for characteristic: CBCharacteristic) {
    request { [self] in
      let value = Data(try await reachable(characteristic.remote).read())
      characteristic.shared.withLock { $0.value = value }
    } then: {
      $0.delegate?.peripheral($0, didUpdateValueFor: characteristic, error: $1)
    }
  }

  /// Writes a value of a characteristic; with response, the delegate is told of the answer.
  public func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
    guard type == .withResponse else { return writeWithoutResponse(data, for: characteristic) }
    request { [self] in
      try await reachable(characteristic.remote).write(Array(data))
    } then: {
      $0.delegate?.peripheral($0, didWriteValueFor: characteristic, error: $1)
    }
  }

  /// Returns the largest length of a value for one write, in bytes.
  public func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
    switch type {
    case .withResponse: 512
    case .withoutResponse: shared.withLock { $0.device }?.longestValue ?? 20
    }
  }

  /// A Boolean value that indicates whether there is room for a write without response; when there is none, the delegate
  /// is told of the next.
  public var canSendWriteWithoutResponse: Bool {
    shared.withLock { shared in
      guard shared.state == .connected else { return false }
      if shared.waitingWrites >= Self.window { shared.isFull = true }
      return shared.waitingWrites < Self.window
    }
  }

  private func writeWithoutResponse(_ data: Data, for characteristic: CBCharacteristic) {
    let hasRoom = shared.withLock { shared in
      guard shared.waitingWrites < Self.mostWrites else { return false }
      shared.waitingWrites += 1
      if shared.waitingWrites >= Self.window { shared.isFull = true }
      return true
    }
    guard hasRoom else {
      Radio.logger.error("a write without response was dropped: wait for peripheralIsReady")
      return
    }
    requests.enqueue { [self] in
      do {
        try await reachable(characteristic.remote).write(Array(data), .withoutResponse)
      } catch {
        // CoreBluetooth has no call for it.
        Radio.logger.warning("a write without response failed", metadata: ["error": "\(error)"])
      }
      let isReady = shared.withLock { shared in
        shared.waitingWrites -= 1
        guard shared.isFull, shared.waitingWrites <= Self.window / 2 else { return false }
        shared.isFull = false
        return true
      }
      if isReady { callbacks.post { [self] in delegate?.peripheralIsReady(toSendWriteWithoutResponse: self) } }
    }
  }

  // MARK: Subscriptions

  /// Subscribes to the notifications or indications of a characteristic, or unsubscribes, and tells the delegate.
  public func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    request { [self] in
      let remote = try reachable(characteristic.remote)
      if enabled { try await subscribe(to: remote, characteristic) } else { await unsubscribe(from: remote) }
      characteristic.shared.withLock { $0.isNotifying = enabled }
    } then: {
      $0.delegate?.peripheral($0, didUpdateNotificationStateFor: characteristic, error: $1)
    }
  }

  private func subscribe(to remote: RemoteCharacteristic, _ characteristic: CBCharacteristic) async throws {
    guard shared.withLock({ $0.subscriptions[remote] == nil }) else { return }
    let values = try await remote.notifications()
    let callbacks = callbacks
    let task = Task { [weak self] in
      do {
        for try await value in values {
          await callbacks.deliver { [weak self] in self?.received(value, characteristic) }
        }
      } catch {
        let failure = CBError.wrapping(error)
        await callbacks.deliver { [weak self] in self?.lost(remote, characteristic, failure) }
      }
    }
    shared.withLock { $0.subscriptions[remote] = task }
  }

  private func unsubscribe(from remote: RemoteCharacteristic) async {
    let task = shared.withLock { $0.subscriptions.removeValue(forKey: remote) }
    task?.cancel()
    await task?.value
  }

  private func received(_ value: [UInt8], _ characteristic: CBCharacteristic) {
    characteristic.shared.withLock { $0.value = Data(value) }
    delegate?.peripheral(self, didUpdateValueFor: characteristic, error: nil)
  }

  /// Tells that a subscription ended because the app was slower than the device.
  private func lost(_ remote: RemoteCharacteristic, _ characteristic: CBCharacteristic, _ failure: any Error) {
    shared.withLock { $0.subscriptions[remote] = nil }
    characteristic.shared.withLock { $0.isNotifying = false }
    delegate?.peripheral(self, didUpdateNotificationStateFor: characteristic, error: failure)
  }

  // MARK: Descriptors and the radio

  /// Reads the value of a descriptor, and tells the delegate.
  public func readValue(for descriptor: CBDescriptor) {
    request { [self] in
      let value = Data(try await reachable(descriptor.remote).read())
      descriptor.shared.withLock { $0.value = value }
    } then: {
      $0.delegate?.peripheral($0, didUpdateValueFor: descriptor, error: $1)
    }
  }

  /// Writes the value of a descriptor, and tells the delegate. The client configuration is written with
  /// ``setNotifyValue(_:for:)`` alone.
  public func writeValue(_ data: Data, for descriptor: CBDescriptor) {
    request { [self] in
      try await reachable(descriptor.remote).write(Array(data))
    } then: {
      $0.delegate?.peripheral($0, didWriteValueFor: descriptor, error: $1)
    }
  }

  /// Tells the delegate of the strength of the last advertisement. bluetoothd does not report that of a connection, so
  /// it is known only while somebody scans; otherwise the delegate gets an error.
  public func readRSSI() {
    request { [self] in
      guard try connectedDevice().rssi != nil else {
        throw CBError(.operationNotSupported, "bluetoothd does not report the strength of a connection")
      }
    } then: {
      let rssi = $0.shared.withLock { $0.device }?.rssi ?? 127
      $0.delegate?.peripheral($0, didReadRSSI: NSNumber(value: rssi), error: $1)
    }
  }
}
