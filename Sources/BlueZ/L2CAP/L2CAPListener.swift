/// Takes the channels that peers open on one PSM.
///
/// ```swift
/// let listener = try adapter.listen()
/// for try await channel in listener { Task { try await serve(channel) } }
/// ```
///
/// The sequence ends with ``close()``, or when the listener's last reference goes. The listener is the kernel's: it
/// outlives a restart of bluetoothd, and the adapter's being unplugged and coming back. Peers that are not connected
/// find the adapter only when it advertises.
public final class L2CAPListener: AsyncSequence, Sendable {
  /// The PSM it listens on; peers have to be told when it was not agreed on.
  public let psm: UInt16
  private let socket: L2CAPSocket
  private let queue: AcceptQueue

  init(socket: L2CAPSocket, adapter: Adapter, psm: UInt16, backlog: Int) {
    let queue = AcceptQueue(limit: backlog)
    self.socket = socket
    self.psm = psm
    self.queue = queue
    Task { await Self.accept(at: socket, of: adapter, psm, into: queue) }
  }

  deinit { close() }

  /// Listens no more, and closes the channels that nobody took; those that were taken stay. Without effect when it is
  /// closed.
  public func close() {
    queue.close()
    socket.close()
  }

  /// The iterator. Several iterators share the channels among them.
  public func makeAsyncIterator() -> Iterator { Iterator(listener: self) }

  /// Takes channels from a listener.
  public struct Iterator: AsyncIteratorProtocol {
    let listener: L2CAPListener

    /// The next channel; `nil` when the listener was closed.
    /// - Throws: ``BlueZError`` when a channel could not be taken, as with too many open files; the listener goes on.
    ///   `CancellationError`.
    public mutating func next() async throws -> L2CAPChannel? { try await listener.queue.take() }
  }

  /// Accepts at once what there is room for: the kernel forgets a channel, with what came over it, when its peer closes
  /// it before that.
  private static func accept(
    at socket: L2CAPSocket, of adapter: Adapter, _ psm: UInt16, into queue: AcceptQueue
  ) async {
    let doing = "taking a channel on PSM \(L2CAPChannel.text(psm))"
    repeat {
      do {
        await queue.waitForRoom()
        while let (accepted, address) = try socket.accept(doing: doing) {
          let channel = try L2CAPChannel(socket: accepted, peer: try adapter.peer(at: address.address), psm: psm)
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
  /// Somebody at the other end of a link to this adapter, named as bluetoothd names them.
  fileprivate func peer(at address: BluetoothAddress) throws -> Peer {
    let element = "dev_" + address.description.replacing(":", with: "_")
    return Peer(path: try (path ?? "/org/bluez").appending(element))
  }
}
