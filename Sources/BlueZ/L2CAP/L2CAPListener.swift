/// A listener for the channels that peers open on one PSM.
///
/// ```swift
/// let listener = try adapter.listen()
/// for try await channel in listener {
///   Task { for try await packet in channel.packets { try await channel.send(packet) } }
/// }
/// ```
///
/// The sequence finishes with ``close()``, when the session ends, or when the listener's last reference is released. The
/// listener belongs to the kernel: it survives a restart of bluetoothd, and the removal and return of the adapter. Peers
/// that are not connected find the adapter only while it advertises.
public final class L2CAPListener: AsyncSequence, Sendable {
  /// The PSM of the listener, which peers must know.
  public let psm: UInt16
  private let socket: any ChannelSocket
  private let queue: AcceptQueue
  private let ending: SessionEnding

  init(socket: any ChannelSocket, adapter: Adapter, psm: UInt16, backlog: Int) {
    let queue = AcceptQueue(limit: backlog)
    ending = SessionEnding(adapter.session) {
      queue.close()
      socket.close()
    }
    self.socket = socket
    self.psm = psm
    self.queue = queue
    Task { await Self.accept(at: socket, of: adapter, psm, into: queue) }
  }

  deinit { close() }

  /// Stops listening, and closes the channels that were not accepted by the program; the others stay open. Without
  /// effect when the listener is closed.
  public func close() {
    queue.close()
    socket.close()
    ending.cancel()
  }

  /// Returns an iterator over the channels. Several iterators share the channels.
  public func makeAsyncIterator() -> Iterator { Iterator(listener: self) }

  /// An iterator over the channels of a listener.
  public struct Iterator: AsyncIteratorProtocol {
    let listener: L2CAPListener

    /// Returns the next channel; `nil` when the listener was closed.
    /// - Throws: ``BlueZError`` when a channel could not be accepted, as with too many open files; the listener
    ///   continues. `CancellationError`.
    public mutating func next() async throws -> L2CAPChannel? { try await listener.queue.take() }
  }

  /// Accepts at once the channels for which there are free slots: the kernel discards a channel, with the packets that
  /// it received, when the peer closes it before that.
  private static func accept(
    at socket: any ChannelSocket, of adapter: Adapter, _ psm: UInt16, into queue: AcceptQueue
  ) async {
    let doing = "accepting a channel on PSM \(L2CAPChannel.text(psm))"
    repeat {
      do {
        await queue.waitForRoom()
        while let (accepted, address) = try socket.accept(doing: doing) {
          let channel = try L2CAPChannel(
            socket: accepted, peer: try adapter.peer(at: address.address), psm: psm, in: adapter.session)
          guard queue.put(.success(channel)) else { return }
          await queue.waitForRoom()
        }
      } catch {
        let error = error as? BlueZError ?? BlueZError(.failed, "\(doing): \(error)")
        guard queue.put(.failure(error)) else { return }
      }
    } while await socket.wait(for: .reading)
  }
}

extension Adapter {
  /// Returns the peer with an address. A bonded device may have the path of a private address that it had before.
  fileprivate func peer(at address: BluetoothAddress) throws -> Peer {
    if let device = device(address) { return device.peer }
    // bluetoothd has not signalled it yet, or does not run.
    let element = "dev_" + address.description.replacing(":", with: "_")
    return Peer(path: try (path ?? "/org/bluez").appending(element))
  }
}
