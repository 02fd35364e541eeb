internal import NIOConcurrencyHelpers
internal import NIOCore

/// The open connections of a server, which may have to be closed together.
final class OpenConnections: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isClosing = false
  }

  private let state = NIOLockedValueBox(State())

  /// Adds a connection, or closes it while all are being closed.
  func add(_ channel: any Channel) {
    let isClosing = state.withLockedValue { state in
      state.channels[ObjectIdentifier(channel)] = channel
      return state.isClosing
    }
    if isClosing { channel.close(promise: nil) }
  }

  /// Removes a connection that has closed.
  func remove(_ channel: any Channel) {
    state.withLockedValue { $0.channels[ObjectIdentifier(channel)] = nil }
  }

  /// Closes all connections, present and future.
  func closeAll() {
    let channels = state.withLockedValue { state in
      state.isClosing = true
      return state.channels
    }
    for channel in channels.values { channel.close(promise: nil) }
  }
}
