import Streams

extension RemoteCharacteristic {
  /// Acquires a socket for writing without response, which costs less for each value than
  /// ``write(_:_:offset:timeout:)``. While it is held, bluetoothd refuses all other writes of the characteristic.
  /// - Throws: ``BlueZError``: `.notSupported` when the characteristic cannot be written without response,
  ///   `.inProgress` when a client on this host holds the socket already, `.notConnected`, `.staleHandle`.
  public func writer() async throws -> CharacteristicWriter {
    try check()
    guard flags.contains(.writeWithoutResponse) else {
      throw BlueZError(.notSupported, "\(uuid) cannot be written without response")
    }
    let (descriptor, mtu) = try await acquire("AcquireWrite", .writer(of: path))
    let socket = try PacketSocket(owning: descriptor, onPacket: { _ in }, onClose: {})
    return CharacteristicWriter(self, mtu: mtu, socket: socket)
  }

  /// The longest time for which bluetoothd may not know yet that this session has closed a socket.
  private static let noticeLimit = Duration.seconds(2)

  /// Waits until bluetoothd has noticed that this session closed a socket; returns at once when it closed none.
  /// - Returns: `true` if the session had such a socket, and bluetoothd has noticed its end.
  func hasReleased(_ socket: ClosedSockets.Socket) async throws -> Bool {
    guard device.core.state.withLock({ $0.closedSockets.take(socket) }) else { return false }
    do {
      try await device.core.wait("waiting for the end of a socket of \(uuid)", Self.noticeLimit) { [path] state in
        state.cache.properties(path, Self.interface)?[socket.property]?.bool == true ? nil : ()
      }
      return true
    } catch let error as BlueZError where error.code == .timedOut {
      // Another program has one by now, or bluetoothd has not signalled the end. It says which.
      return false
    }
  }

  /// Requests a socket from bluetoothd, when that has noticed the end of the one that this session had before.
  /// - Returns: This end of the socket, and the ATT MTU of the connection.
  func acquire(_ member: String, _ socket: ClosedSockets.Socket) async throws -> (FileDescriptor, Int) {
    _ = try await hasReleased(socket)
    do {
      let reply = try await device.core.callPeer(
        .init(path, Self.interface, member, returning: "hq"), [.properties([:])], timeout: .seconds(35),
        doing: "\(member) of \(uuid)")
      guard let descriptor = reply[0].fileDescriptor, let mtu = reply[1].integer(as: Int.self) else {
        throw BlueZError(.failed, "\(member) of \(uuid) returned no socket")
      }
      return (descriptor, mtu)
    } catch let error as BlueZError {
      throw error.whenAcquired
    }
  }
}

extension BlueZError {
  /// The same error, with code `.inProgress` when its cause is that a client holds a socket of the characteristic.
  var whenAcquired: BlueZError {
    guard code == .notPermitted, let text = underlying?.message, text.hasSuffix("acquired") else { return self }
    let holder = text.hasPrefix("Notify") ? "a subscription" : "a writer"
    return BlueZError(.inProgress, message, hint: "\(holder) on this host holds it", underlying: underlying)
  }
}

/// A socket that writes values of one characteristic without response. It is released with the last reference.
///
/// ```swift
/// let writer = try await characteristic.writer()
/// for number in 0..<100 { try await writer.write([UInt8(number)]) }
/// writer.close()
/// ```
public final class CharacteristicWriter: Sendable {
  /// The ATT MTU of the connection when the socket was acquired, in bytes.
  public let mtu: Int
  private let uuid: BluetoothUUID
  private let socket: PacketSocket
  private let noteEnd: @Sendable () -> Void
  private let isClosed = Lock(false)

  init(_ characteristic: RemoteCharacteristic, mtu: Int, socket: PacketSocket) {
    uuid = characteristic.uuid
    self.mtu = mtu
    self.socket = socket
    let released = ClosedSockets.Socket.writer(of: characteristic.path)
    noteEnd = { [core = characteristic.device.core] in core.state.withLock { $0.closedSockets.note(released) } }
  }

  deinit { close() }

  /// The largest length of a value in bytes: MTU − 3, at most 512.
  public var longestValue: Int { min(mtu - 3, AttributeLimits.value) }

  /// Writes one value; waits while the socket to bluetoothd is full. A return does not mean that the value was sent
  /// over the air.
  /// - Parameters:
  ///   - value: The value, at most ``longestValue`` bytes.
  ///   - timeout: The longest time to wait for free space in the socket.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the value is too long (bluetoothd would truncate it silently),
  ///   `.notConnected`, `.timedOut`; `CancellationError`.
  public func write(_ value: [UInt8], timeout: Duration = .seconds(35)) async throws {
    guard value.count <= longestValue else {
      throw BlueZError(
        .invalidArgument, "the value for \(uuid) has \(value.count) bytes; allowed: at most \(longestValue)")
    }
    try await socket.send(value, timeout: timeout)
  }

  /// Releases the socket, so that other writes are possible again.
  public func close() {
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else { return }
    noteEnd()
    socket.close()
  }
}
