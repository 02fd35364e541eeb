public import Streams

extension Device {
  /// Sets the connection parameters of this device, with which the kernel connects to it from now on. From Linux 6.11 on
  /// the kernel also puts them in force on an existing connection whose central is this host. Needs CAP_NET_ADMIN.
  ///
  /// They are valid for all programs of this host, until bluetoothd starts again. The kernel forgets those of other
  /// devices, to which it then connects with ``Adapter/preferredConnectionParameters()``: before Linux 6.11 with each
  /// call, since then when it had none of this device.
  /// - Throws: ``BlueZError``: `.invalidArgument`, `.notPermitted` without the capability, `.staleHandle`, `.timedOut`.
  public func setPreferredConnectionParameters(_ parameters: ConnectionParameters) async throws {
    let doing = "setting the preferred connection parameters of \(peer)"
    let fields = try parameters.fields(doing).flatMap(\.littleEndianBytes)
    // One entry.
    let entries = try [1, 0] + managementAddress() + fields
    let adapter = try adapter()
    // Linux updates a connection only when it knew parameters of the device before (commit 0ece498c27d8).
    for _ in 0..<(isConnected ? 2 : 1) {
      _ = try await adapter.manage(.loadConnectionParameters, entries, doing: doing)
    }
  }

  /// Returns the connection parameters that the device asks for and the kernel puts in force, from now on and over all
  /// connections whose central is this host. The stream finishes when the device or bluetoothd is gone. Needs
  /// CAP_NET_ADMIN.
  ///
  /// ```swift
  /// for await parameters in try await device.connectionParameterUpdates() { print(parameters.interval) }
  /// ```
  ///
  /// The kernel accepts whatever is valid; the controller chooses an interval in the range.
  /// - Parameter limit: The capacity of the stream; when it is full the oldest elements are dropped.
  /// - Throws: ``BlueZError``: `.notPermitted` without the capability, `.staleHandle`, `.timedOut`.
  public func connectionParameterUpdates(limit: Int = 16) async throws -> BoundedStream<ConnectionParameters> {
    let doing = "following the connection parameters of \(peer)"
    let address = try managementAddress()
    guard let index = try adapter().requirePath().controllerIndex else { throw BlueZError(.noAdapter, doing) }
    let socket = try core.kernel.openManagement()
    try await socket.requirePrivilege(doing)
    let watch = LinkWatch(self)
    let (stream, source) = BoundedStream.make(
      of: ConnectionParameters.self, limit: limit, onTermination: { watch.end() })
    watch.begin(onEnd: { source.finish() }, when: { $0 == .gone }) { [core, peer] in
      do {
        while true {
          let packet = try await socket.next(doing)
          // New Connection Parameter.
          guard packet.code == 0x001c, packet.index == index else { continue }
          if let parameters = ConnectionParameters(event: packet.parameters, of: address) { source.yield(parameters) }
        }
      } catch is CancellationError {
        // The stream has ended.
      } catch {
        core.logger.notice("no more connection parameters", metadata: ["peer": "\(peer)", "error": "\(error)"])
        source.finish()
      }
    }
    return stream
  }
}

extension ManagementSocket {
  /// Checks that the kernel sends this socket the events about connections. Of one without the capability it permits
  /// few commands, and sends it few events.
  /// - Throws: ``BlueZError``, `.notPermitted`.
  func requirePrivilege(_ doing: String) async throws {
    // HCI_DEV_NONE, because the commands are those of the interface.
    let reply = try await request(.readCommands, at: 0xffff, doing: doing)
    var fields = LittleEndianReader(reply)
    guard let count = fields.uint16(), fields.uint16() != nil else { throw BlueZError.malformedReply(doing) }
    let commands = (0..<count).compactMap { _ in fields.uint16() }
    guard commands.contains(ManagementCommand.getConnectionInformation.rawValue) else {
      throw BlueZError(managementStatus: 0x14, while: doing) ?? BlueZError.malformedReply(doing)
    }
  }
}
