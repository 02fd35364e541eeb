internal import NIOConcurrencyHelpers
internal import NIOCore

/// The connections of a server, for the one who must end them all.
final class OpenConnections: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isEnding = false
  }

  private let state = NIOLockedValueBox(State())

  /// Takes a connection in; when all are being ended, this one is too.
  func add(_ channel: any Channel) {
    let isEnding = state.withLockedValue { state in
      state.channels[ObjectIdentifier(channel)] = channel
      return state.isEnding
    }
    if isEnding { channel.close(promise: nil) }
  }

  /// Forgets a connection that has ended.
  func remove(_ channel: any Channel) {
    state.withLockedValue { $0.channels[ObjectIdentifier(channel)] = nil }
  }

  /// Ends all connections, and those that still come.
  func endAll() {
    let channels = state.withLockedValue { state in
      state.isEnding = true
      return state.channels
    }
    for channel in channels.values { channel.close(promise: nil) }
  }
}
