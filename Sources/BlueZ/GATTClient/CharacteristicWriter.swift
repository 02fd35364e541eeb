import Streams

extension RemoteCharacteristic {
  /// Gets a socket for writing without response: less work for each value than ``write(_:_:offset:timeout:)``. While
  /// it is held, bluetoothd refuses every other write of the characteristic.
  /// - Throws: ``BlueZError``: `.notSupported` when the characteristic cannot be written without response,
  ///   `.inProgress` when somebody in this machine holds it already, `.notConnected`, `.staleHandle`.
  public func writer() async throws -> CharacteristicWriter {
    try check()
    guard flags.contains(.writeWithoutResponse) else {
      throw BlueZError(.notSupported, "\(uuid) cannot be written without response")
    }
    let (descriptor, mtu) = try await acquire("AcquireWrite")
    return CharacteristicWriter(
      uuid: uuid, mtu: mtu, socket: try PacketSocket(owning: descriptor, onPacket: { _ in }, onClose: {}))
  }

  /// Asks bluetoothd for a socket.
  /// - Returns: our end of it, and the ATT MTU of the link.
  func acquire(_ member: String) async throws -> (FileDescriptor, Int) {
    do {
      let reply = try await device.core.call(
        .init(path, Self.interface, member, returning: "hq"), [.properties([:])], timeout: .seconds(35),
        doing: "\(member) of \(uuid)")
      guard let descriptor = reply[0].fileDescriptor, let mtu = reply[1].integer(as: Int.self) else {
        throw BlueZError(.failed, "\(member) of \(uuid) brought no socket")
      }
      return (descriptor, mtu)
    } catch let error as BlueZError {
      throw error.whenAcquired
    }
  }
}

extension BlueZError {
  /// The same error, named for what it is when it says that a socket of the characteristic is held.
  var whenAcquired: BlueZError {
    guard code == .notPermitted, let text = underlying?.message, text.hasSuffix("acquired") else { return self }
    let holder = text.hasPrefix("Notify") ? "a subscription" : "a writer"
    return BlueZError(.inProgress, message, hint: "\(holder) in this machine holds it", underlying: underlying)
  }
}

/// Writes values without response through a socket. It is given back with the last reference.
public final class CharacteristicWriter: Sendable {
  /// The ATT MTU of the link when the socket was made, in bytes.
  public let mtu: Int
  private let uuid: BluetoothUUID
  private let socket: PacketSocket

  init(uuid: BluetoothUUID, mtu: Int, socket: PacketSocket) {
    self.uuid = uuid
    self.mtu = mtu
    self.socket = socket
  }

  /// The most bytes of one value: MTU − 3, at most 512.
  public var longestValue: Int { min(mtu - 3, AttributeLimits.value) }

  /// Writes one value; waits while bluetoothd has no room. That it is taken says nothing of the radio.
  /// - Parameters:
  ///   - value: at most ``longestValue`` bytes.
  ///   - timeout: how long to wait for room.
  /// - Throws: ``BlueZError``: `.invalidArgument` when it is too long (bluetoothd would cut it silently),
  ///   `.notConnected`, `.timedOut`; `CancellationError`.
  public func write(_ value: [UInt8], timeout: Duration = .seconds(35)) async throws {
    guard value.count <= longestValue else {
      throw BlueZError(.invalidArgument, "\(value.count) bytes for \(uuid), which takes \(longestValue) in one write")
    }
    try await socket.send(value, timeout: timeout)
  }

  /// Gives the socket back.
  public func close() { socket.close() }
}
