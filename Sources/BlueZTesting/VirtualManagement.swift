package import BlueZ
import Streams

/// The far ends of the management sockets that sessions open.
package final class VirtualManagement: Sendable {
  /// Sends the packets that answer a command to the socket that it came from.
  package typealias Reply = @Sendable ([ManagementPacket]) -> Void

  private struct State {
    var ends: [Int: PacketSocket] = [:]
    var nextEnd = 0
  }

  private let state = Lock(State())
  private let onCommand: @Sendable (ManagementPacket, @escaping Reply) -> Void

  /// - Parameter onCommand: Called with each command, on the thread that reads all sockets.
  package init(onCommand: @escaping @Sendable (ManagementPacket, @escaping Reply) -> Void) {
    self.onCommand = onCommand
  }

  /// The number of sockets that are open now.
  package var openSockets: Int { state.withLock { $0.ends.count } }

  /// Opens a socket, and returns its near end.
  package func open() throws -> ManagementSocket {
    let (near, far) = try PacketSocket.pair()
    let id = state.withLock { state in
      state.nextEnd += 1
      return state.nextEnd
    }
    let end = try PacketSocket(
      owning: far, onPacket: { [weak self] in self?.take($0, from: id) },
      onClose: { [weak self] in _ = self?.state.withLock { $0.ends.removeValue(forKey: id) } })
    state.withLock { $0.ends[id] = end }
    return try ManagementSocket(owning: near)
  }

  /// Sends an event, or bytes that are none, to all open sockets.
  package func send(_ bytes: [UInt8]) {
    for end in state.withLock({ Array($0.ends.values) }) { Self.send(bytes, to: end) }
  }

  private func take(_ bytes: [UInt8], from id: Int) {
    guard let command = ManagementPacket(bytes) else { return }
    onCommand(command) { [weak self] packets in
      let end = self?.state.withLock { $0.ends[id] }
      for packet in packets { Self.send(packet.bytes, to: end) }
    }
  }

  private static func send(_ bytes: [UInt8], to end: PacketSocket?) {
    do {
      _ = try end?.sendNow(bytes)
    } catch {
      // The program has closed its socket, as at the end of a stream.
    }
  }
}
