import BlueZ
import BlueZTesting
import Streams

/// The handles that a program holds: what it has declared.
struct Possessions {
  var advertisements: [Advertisement] = []
  var applications: [GATTApplication] = []
  var scans: [BoundedStream<Adapter.ScanResult>] = []
  var connections: [DeviceConnection] = []
  var agents: [AgentRegistration] = []
  var windows: [PairingWindow] = []

  /// The things that bluetoothd must have for the program.
  ///
  /// Whether the adapter is pairable is determined only without an agent: an agent makes it so, and the end of a window
  /// undoes it, in the order in which they happen.
  func holdings(likePairable isPairable: Bool) -> FakeAdapter.Holdings {
    FakeAdapter.Holdings(
      advertisements: advertisements.count, applications: applications.count, scans: scans.isEmpty ? 0 : 1,
      links: connections.isEmpty ? 0 : 1, agents: agents.count,
      isPairable: !windows.isEmpty || (!agents.isEmpty && isPairable))
  }
}

extension Lock where State == Possessions {
  /// Removes the last handle of a kind, so that the caller can end it or release it.
  func take<Handle>(_ kind: WritableKeyPath<Possessions, [Handle]>) -> Handle? {
    withLock { $0[keyPath: kind].popLast() }
  }

  func keep<Handle>(_ handle: Handle, _ kind: WritableKeyPath<Possessions, [Handle]>) {
    withLock { $0[keyPath: kind].append(handle) }
  }
}
