import Glibc

/// An LE L2CAP connection-oriented channel (Core Specification 3.A.10.1): packets both ways over a link, whole and in
/// order, with flow control from end to end.
///
/// ```swift
/// let channel = try await device.openChannel(psm: 0x80)
/// try await channel.send(Array("hello".utf8))
/// for try await packet in channel.packets { … }
/// ```
///
/// Every packet is one SDU with its boundaries. Where GATT has bluetoothd queue without bound, a channel has credits: a
/// reader that is slow holds the sender up, and ``send(_:timeout:)`` waits. That needs Linux 6.10, or an older series
/// that has its commit ce60b9231b66, as Debian 12's 6.1 has. Other kernels give credits before there is room, and
/// discard without a word what a slow reader's socket does not hold (some 200 kB, the kernel's overhead included).
///
/// The channel lasts until ``close()``, until the peer closes it, until its link ends, or until its last reference
/// goes. It is the kernel's: a restart of bluetoothd does not end it by itself.
///
/// Classic Bluetooth (BR/EDR), and with it RFCOMM, is out of scope.
public final class L2CAPChannel: Sendable {
  /// The MTU to receive with unless told otherwise, in bytes.
  public static let defaultMTU = 2048

  /// Who is at the other end.
  public let peer: Peer
  /// The PSM it was opened on.
  public let psm: UInt16
  /// The most bytes of a packet from the peer.
  public let receiveMTU: Int
  /// The most bytes of a packet to the peer: what the peer receives with. 65535 when the channel had ended before the
  /// kernel could be asked.
  public let sendMTU: Int

  let socket: L2CAPSocket

  init(socket: L2CAPSocket, peer: Peer, psm: UInt16) throws {
    self.socket = socket
    self.peer = peer
    self.psm = psm
    let doing = "asking for the MTU of \(Self.name(psm, peer))"
    receiveMTU = Int(try socket.option(SOL_BLUETOOTH, L2CAPSocket.receiveMTU, doing) as UInt16)
    do {
      sendMTU = Int(try socket.option(SOL_BLUETOOTH, L2CAPSocket.sendMTU, doing) as UInt16)
    } catch let error as BlueZError where error.errno == ENOTCONN {
      // The peer has closed it already, but may have sent something.
      sendMTU = Int(UInt16.max)
    }
  }

  /// Closes the channel; without effect when it is closed. What the kernel still has to send is dropped, as it is when
  /// the last reference goes: ``flush(timeout:)`` first where that matters.
  public func close() { socket.close() }

  /// What security the link has now.
  /// - Throws: ``BlueZError`` with code `.notConnected`.
  public var security: SecurityLevel {
    get throws {
      SecurityLevel(rawValue: try socket.securityLevel("asking for the security of \(name)")) ?? .low
    }
  }

  /// How an LE radio sends.
  public enum PHY: Sendable, Hashable {
    /// 1 Mbit/s.
    case oneMegabit
    /// 2 Mbit/s.
    case twoMegabit
    /// 125 or 500 kbit/s, with long range.
    case coded
  }

  /// The PHY in either direction; `nil` where the kernel does not know, which it does only after the PHY was changed.
  /// - Throws: ``BlueZError`` with code `.notConnected`.
  public var phy: (transmit: PHY?, receive: PHY?) {
    get throws {
      let bits: UInt32 = try socket.option(SOL_BLUETOOTH, L2CAPSocket.phy, "asking for the PHY of \(name)")
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

  /// The MTUs there can be (Core Specification 3.A.4.22).
  static func check(mtu: Int) throws {
    guard (23...65535).contains(mtu) else {
      throw BlueZError(.invalidArgument, "an MTU of \(mtu) bytes", hint: "23 to 65535")
    }
  }

  /// The PSMs there can be (Core Specification 3.A.4.22): below 0x80 they are assigned by the Bluetooth SIG.
  static func check(psm: UInt16) throws {
    guard (1...0xff).contains(psm) else {
      throw BlueZError(.invalidArgument, "PSM \(text(psm))", hint: "0x01 to 0xff, your own from 0x80 on")
    }
  }
}
