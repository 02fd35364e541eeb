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
  var listeners: [L2CAPListener] = []
  var channels: [L2CAPChannel] = []
  /// A Boolean value that indicates whether the kernel may have made a link for a channel, which lasts as long as the
  /// session.
  var hasOpenedChannels = false

  /// The things that bluetoothd must have for the program.
  ///
  /// Whether the adapter is pairable is determined only without an agent: an agent makes it so, and the end of a window
  /// undoes it, in the order in which they happen. Whether there is a link is determined only without channels.
  func holdings(like found: FakeAdapter.Holdings) -> FakeAdapter.Holdings {
    var wanted = FakeAdapter.Holdings(
      advertisements: advertisements.count, applications: applications.count, scans: scans.isEmpty ? 0 : 1,
      links: !connections.isEmpty ? 1 : hasOpenedChannels ? min(found.links, 1) : 0, agents: agents.count,
      isPairable: !windows.isEmpty || (!agents.isEmpty && found.isPairable))
    wanted.channels = listeners.count + channels.count
    return wanted
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
