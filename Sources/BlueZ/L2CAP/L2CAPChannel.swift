/// An LE L2CAP connection-oriented channel (Core Specification 3.A.10.1): packets in both directions, whole and in
/// order, with end-to-end flow control.
///
/// ```swift
/// let channel = try await device.openChannel(psm: 0x80)
/// try await channel.send(Array("hello".utf8))
/// for try await packet in channel.packets { print(packet.count, "bytes") }
/// ```
///
/// Every packet is one SDU and keeps its boundaries. Where bluetoothd queues GATT values without limit, a channel has
/// credits: a slow reader blocks the sender, and ``send(_:timeout:)`` waits. That needs Linux 6.10, or an older series
/// that has its commit ce60b9231b66, as Debian 12's 6.1 has. Other kernels grant credits before there is free memory,
/// and silently discard what does not fit into a slow reader's socket (some 200 kB, including the kernel's overhead).
///
/// The channel lasts until ``close()``, until the peer closes it, until its connection or its session ends, or until its
/// last reference is released. It belongs to the kernel: a restart of bluetoothd alone does not end it.
///
/// Classic Bluetooth (BR/EDR), and with it RFCOMM, is out of scope.
public final class L2CAPChannel: Sendable {
  /// The default length of the longest packet from the peer, in bytes.
  public static let defaultMTU = 2048

  /// The peer of the channel.
  public let peer: Peer
  /// The PSM on which the channel was opened.
  public let psm: UInt16
  /// The length of the longest packet from the peer, in bytes.
  public let receiveMTU: Int
  /// The length of the longest packet to the peer, in bytes: the peer's receive MTU. 65535 when the channel had ended
  /// before the kernel reported it.
  public let sendMTU: Int

  let socket: any ChannelSocket
  private let ending: SessionEnding

  init(socket: any ChannelSocket, peer: Peer, psm: UInt16, in session: Session) throws {
    self.socket = socket
    self.peer = peer
    self.psm = psm
    let mtus = try socket.mtus("reading the MTU of \(Self.name(psm, peer))")
    receiveMTU = Int(mtus.receive)
    sendMTU = Int(mtus.send ?? .max)
    ending = SessionEnding(session) { [weak socket] in socket?.close() }
  }

  deinit { close() }

  /// Closes the channel; without effect when it is closed. Packets that the kernel has not sent are dropped, as they
  /// are when the last reference is released: call ``flush(timeout:)`` before where that matters.
  public func close() {
    socket.close()
    ending.cancel()
  }

  /// The present security of the connection.
  /// - Throws: ``BlueZError`` with code `.notConnected`.
  public var security: SecurityLevel {
    get throws {
      SecurityLevel(rawValue: try socket.securityLevel("reading the security of \(name)")) ?? .low
    }
  }

  /// The PHY of an LE connection.
  public typealias PHY = BlueZ.PHY

  /// The PHY in each direction; `nil` where the kernel does not know it, which it does only after the PHY was changed.
  /// - Throws: ``BlueZError`` with code `.notConnected`.
  public var phy: (transmit: PHY?, receive: PHY?) {
    get throws {
      let bits = try socket.phys("reading the PHY of \(name)")
      // BT_PHY_LE_1M_TX is bit 9, its RX bit 10; those of 2M and of coded follow (include/net/bluetooth/bluetooth.h).
      func phy(_ first: UInt32) -> PHY? {
        bits & first != 0 ? .oneMegabit : bits & first << 2 != 0 ? .twoMegabit : bits & first << 4 != 0 ? .coded : nil
      }
      return (transmit: phy(1 << 9), receive: phy(1 << 10))
    }
  }

  var name: String { Self.name(psm, peer) }

  static func name(_ psm: UInt16, _ peer: Peer) -> String { "PSM \(Self.text(psm)) of \(peer)" }

  static func text(_ psm: UInt16) -> String { "0x" + (psm < 16 ? "0" : "") + String(psm, radix: 16) }

  /// Checks an MTU against its range (Core Specification 3.A.4.22).
  static func check(mtu: Int) throws {
    guard (23...65535).contains(mtu) else {
      throw BlueZError(.invalidArgument, "the MTU is \(mtu) bytes; allowed: 23 to 65535")
    }
  }

  /// Checks a PSM against its range (Core Specification 3.A.4.22): those below 0x80 are assigned by the Bluetooth SIG.
  static func check(psm: UInt16) throws {
    guard (1...0xff).contains(psm) else {
      throw BlueZError(
        .invalidArgument, "the PSM is \(text(psm)); allowed: 0x01 to 0xff", hint: "PSMs of your own are 0x80 to 0xff")
    }
  }
}
