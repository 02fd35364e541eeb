import DBus
import Streams

/// The operations that characteristics and descriptors share.
extension SessionCore {
  func readValue(
    _ path: ObjectPath, _ interface: String, _ offset: UInt16, _ timeout: Duration, doing: String
  ) async throws -> [UInt8] {
    let reply = try await callPeer(
      Method(path, interface, "ReadValue", returning: "ay"),
      [.properties(offset == 0 ? [:] : ["offset": .uint16(offset)])], timeout: timeout, doing: doing)
    return reply[0].bytes ?? []
  }

  func writeValue(
    _ path: ObjectPath, _ interface: String, _ value: [UInt8], _ options: [String: Value], timeout: Duration,
    doing: String
  ) async throws {
    try await callPeer(
      Method(path, interface, "WriteValue"), [.bytes(value), .properties(options)], timeout: timeout, doing: doing)
  }

  /// Calls a method of an attribute that bluetoothd answers when the peer has, until the connection ends. bluetoothd
  /// itself may take 30 s from then (measured on 5.82, where pairing failed).
  /// - Throws: ``BlueZError`` with code `.notConnected` when the connection ends meanwhile.
  @discardableResult
  func callPeer(
    _ method: Method, _ arguments: [Value], timeout: Duration, doing: String
  ) async throws -> [Value] {
    guard let device = method.path.device else {
      return try await call(method, arguments, timeout: timeout, doing: doing)
    }
    let link = Lock((hasEnded: false, call: Task<[Value], any Error>?.none))
    let observer = observe { change in
      guard change.endsConnection(of: device) else { return }
      link.withLock { link in
        link.hasEnded = true
        link.call?.cancel()
      }
    }
    defer { stopObserving(observer) }
    let pending = Task { try await self.call(method, arguments, timeout: timeout, doing: doing) }
    link.withLock { link in
      link.call = pending
      if link.hasEnded { pending.cancel() }
    }
    do {
      return try await withTaskCancellationHandler {
        try await pending.value
      } onCancel: {
        pending.cancel()
      }
    } catch is CancellationError where !Task.isCancelled {
      throw BlueZError(.notConnected, doing, hint: "the connection ended meanwhile; connect again")
    }
  }
}

extension ObjectCache.Change {
  /// Returns `true` if a device is not connected from this change on.
  fileprivate func endsConnection(of device: ObjectPath) -> Bool {
    switch self {
    case .changed(device, Device.interface, let changed, _): changed["Connected"]?.bool == false
    case .removed(device, let interfaces): interfaces.contains(Device.interface)
    default: false
    }
  }
}

extension ObjectPath {
  /// The device that an attribute's object belongs to.
  fileprivate var device: ObjectPath? {
    guard let name = description.firstRange(of: "/dev_"),
      let end = description[name.upperBound...].firstIndex(of: "/")
    else { return nil }
    return ObjectPath(stringLiteral: String(description[..<end]))
  }
}
