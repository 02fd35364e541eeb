import Streams

@testable import BlueZ

/// An imitation of the kernel's management interface, for the sockets that a session opens.
final class FakeKernel: Sendable {
  /// A kernel's answer to a command; no packets when it stays silent.
  typealias Answer = @Sendable (ManagementPacket) -> [ManagementPacket]

  private struct State {
    var ends: [Int: PacketSocket] = [:]
    var nextEnd = 0
    var commands: [ManagementPacket] = []
    var answer: Answer
  }

  private let state: Lock<State>

  init(_ answer: @escaping Answer) { state = Lock(State(answer: answer)) }

  /// A kernel that answers one command.
  convenience init(_ command: ManagementCommand, status: UInt8 = 0, _ parameters: [UInt8]) {
    self.init { [.completion(of: $0, status: status, $0.code == command.rawValue ? parameters : [])] }
  }

  /// The commands so far.
  var commands: [ManagementPacket] { state.withLock { $0.commands } }

  /// The number of sockets that are open now.
  var openSockets: Int { state.withLock { $0.ends.count } }

  /// Answers in another way from now on.
  func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

  func open() throws -> ManagementSocket {
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

  /// Sends bytes to all open sockets.
  func send(_ bytes: [UInt8]) throws {
    for end in state.withLock({ Array($0.ends.values) }) { _ = try end.sendNow(bytes) }
  }

  private func take(_ bytes: [UInt8], from id: Int) {
    guard let command = ManagementPacket(bytes) else { return }
    let (end, answer) = state.withLock { state in
      state.commands.append(command)
      return (state.ends[id], state.answer)
    }
    for packet in answer(command) {
      do {
        _ = try end?.sendNow(packet.bytes)
      } catch {
        // The program has closed its socket, as at the end of a stream.
        return
      }
    }
  }
}

extension ManagementPacket {
  /// The event Command Complete.
  static func completion(of command: ManagementPacket, status: UInt8 = 0, _ parameters: [UInt8]) -> ManagementPacket {
    ManagementPacket(0x0001, command.index, command.code.littleEndianBytes + [status] + parameters)
  }

  /// The event Command Status.
  static func status(of command: ManagementPacket, _ status: UInt8) -> ManagementPacket {
    ManagementPacket(0x0002, command.index, command.code.littleEndianBytes + [status])
  }
}
