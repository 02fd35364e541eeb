import BlueZ

extension GATTLinkChannel {
  /// Opens a link over a phone's characteristic.
  /// - Returns: the link, and what reads its notifications: to be cancelled when the connection has ended and not
  ///   before, as ``BlueZPhoneConnection/disconnect()`` says.
  /// - Throws: `BlueZError`, as `RemoteCharacteristic.writer` and `notifications`.
  static func open(
    over characteristic: RemoteCharacteristic
  ) async throws -> (GATTLinkChannel, reader: Task<Void, Never>) {
    // Subscribed before anything is written: the phone answers at once.
    let values = try await characteristic.notifications()
    let writer = try await characteristic.writer()
    let channel = GATTLinkChannel(
      link: .random(in: .min ... .max), peer: PeerID(characteristic.device.peer),
      bearer: .init(
        valueLimit: { min(writer.longestValue, Chunker.requestLimit) }, send: { try await writer.write($0) },
        end: { writer.close() }))
    let (number, weak) = (channel.link, { [weak channel] in channel })
    let reader = Task {
      do {
        for try await bytes in values {
          // Where a notification reaches all, there are other centrals' values among them.
          if let value = LinkValue(bytes), value.link == number { weak()?.deliver(value) }
        }
      } catch {
        // More came than could be taken: with a value lost the link is lost, too.
      }
      weak()?.end()
    }
    return (channel, reader)
  }
}
