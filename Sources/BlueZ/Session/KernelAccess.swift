/// The ways in which a session reaches the kernel past bluetoothd; a fake has its own.
package struct KernelAccess: Sendable {
  /// Opens the management interface.
  package var openManagement: ManagementSocket.Opener
  /// Opens a socket for L2CAP channels.
  package var openSocket: @Sendable () throws -> any ChannelSocket
  /// Returns the connections of an adapter, by the number N of hciN; the text is the phase, for errors.
  package var connections: @Sendable (UInt16, String) throws -> [ConnectionInfo]

  /// Creates an access from its parts.
  package init(
    openManagement: @escaping ManagementSocket.Opener, openSocket: @escaping @Sendable () throws -> any ChannelSocket,
    connections: @escaping @Sendable (UInt16, String) throws -> [ConnectionInfo]
  ) {
    self.openManagement = openManagement
    self.openSocket = openSocket
    self.connections = connections
  }

  /// The kernel of this host.
  static let host = KernelAccess(
    openManagement: { try ManagementSocket() }, openSocket: { try L2CAPSocket() },
    connections: { try ConnectionInfo.list(of: $0, doing: $1) })
}
