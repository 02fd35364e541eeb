import BlueZ

extension GATTMuxChannel {
  /// Opens a channel over the characteristic of a phone.
  /// - Returns: The channel, and the reader of its notifications, which must be cancelled after the end of the connection
  ///   and not before; see ``BlueZPhoneConnection/disconnect()``.
  /// - Throws: `BlueZError`, as `RemoteCharacteristic.writer` and `notifications`.
  static func open(
    over characteristic: RemoteCharacteristic
  ) async throws -> (GATTMuxChannel, reader: Task<Void, Never>) {
    // Subscribed before the first write, because the phone replies at once.
    let values = try await characteristic.notifications()
    let writer = try await characteristic.writer()
    let channel = GATTMuxChannel(
      mux: .random(in: .min ... .max), peer: PeerID(characteristic.device.peer),
      bearer: .init(
        valueLimit: { min(writer.longestValue, Chunker.requestLimit) }, send: { try await writer.write($0) },
        onClose: { writer.close() }))
    let number = channel.mux
    let weak = { [weak channel] in channel }
    let reader = Task {
      do {
        for try await bytes in values {
          // A broadcast notification may be a value of another central.
          if let value = MuxValue(bytes), value.mux == number { weak()?.deliver(value) }
        }
      } catch {
        // Values were lost, and the mux is lost with them.
      }
      weak()?.end()
    }
    return (channel, reader)
  }
}
