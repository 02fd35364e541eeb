import BlueZ
import Streams

/// The part of the fake that stands in for the kernel beside its channels: connections, and the management interface.
final class VirtualKernel: Sendable {
  private struct State {
    var connections: [UInt16: [ConnectionInfo]] = [:]
    var answer: (@Sendable (ManagementPacket) async -> [ManagementPacket])?
  }

  private let state: Lock<State>
  let management: VirtualManagement

  init() {
    let state = Lock(State())
    self.state = state
    management = VirtualManagement { command, reply in
      Task {
        guard let answer = state.withLock({ $0.answer }) else { return }
        reply(await answer(command))
      }
    }
  }

  /// Sets the closure that answers commands of the management interface.
  func onCommand(_ answer: @escaping @Sendable (ManagementPacket) async -> [ManagementPacket]) {
    state.withLock { $0.answer = answer }
  }

  /// Notes the connections of an adapter, by its number.
  func note(_ connections: [ConnectionInfo], of number: UInt16) {
    state.withLock { $0.connections[number] = connections }
  }

  func connections(of number: UInt16) -> [ConnectionInfo] { state.withLock { $0.connections[number] ?? [] } }
}
