import BlueZTesting
import Streams

@testable import BlueZ

/// An imitation of the kernel's management interface, for the sockets that a session opens.
final class FakeKernel: Sendable {
  /// A kernel's answer to a command; no packets when it stays silent.
  typealias Answer = @Sendable (ManagementPacket) -> [ManagementPacket]

  private struct State {
    var commands: [ManagementPacket] = []
    var answer: Answer
  }

  private let state: Lock<State>
  private let management: VirtualManagement

  init(_ answer: @escaping Answer) {
    let state = Lock(State(answer: answer))
    self.state = state
    management = VirtualManagement { command, reply in
      let answer = state.withLock { state in
        state.commands.append(command)
        return state.answer
      }
      reply(answer(command))
    }
  }

  /// A kernel that answers one command.
  convenience init(_ command: ManagementCommand, status: UInt8 = 0, _ parameters: [UInt8]) {
    self.init { [.completion(of: $0, status: status, $0.code == command.rawValue ? parameters : [])] }
  }

  /// The commands so far.
  var commands: [ManagementPacket] { state.withLock { $0.commands } }

  /// The number of sockets that are open now.
  var openSockets: Int { management.openSockets }

  /// Answers in another way from now on.
  func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

  func open() throws -> ManagementSocket { try management.open() }

  /// Sends bytes to all open sockets.
  func send(_ bytes: [UInt8]) { management.send(bytes) }
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
