import DBus
import Streams

/// The characteristic as bluetoothd reads it: `org.bluez.GattCharacteristic1`.
extension LocalCharacteristic {
  func interface(service: ObjectPath) -> Interface {
    var interface = Interface(
      InterfaceName.characteristic,
      properties: [
        .init("UUID", .string(uuid.description)),
        .init("Service", .objectPath(service)),
        .init("Flags", .strings(flags.bluezNames)),
      ])
    var handler: (@Sendable (WriteRequest) async throws -> Void)?
    if case .handler(let writes) = writes { handler = writes }
    let methods = AttributeMethods(read: read, write: handler, authorize: authorize)
    interface.methods = [methods.readMethod(), methods.writeMethod()]
    if case .socket(let receive) = writes { offerWriteSocket(receive, &interface) }
    if !flags.isDisjoint(with: .subscription) { offerNotifySocket(&interface) }
    return interface
  }

  private func offerWriteSocket(_ receive: @escaping @Sendable ([UInt8]) -> Void, _ interface: inout Interface) {
    // The mere existence of the property makes bluetoothd request a socket.
    interface.properties.append(.init("WriteAcquired", false))
    interface.methods.append(
      acquireMethod("AcquireWrite") { characteristic, _ in
        let (ours, theirs) = try PacketSocket.pair()
        let socket = try PacketSocket(owning: ours, onPacket: receive, onClose: {})
        characteristic.state.withLock { $0.writeSocket = socket }
        return theirs
      })
  }

  /// Adds the notification socket, for indications too: with a socket bluetoothd reports which central subscribes.
  private func offerNotifySocket(_ interface: inout Interface) {
    interface.properties.append(.init("NotifyAcquired", false))
    interface.methods += [
      acquireMethod("AcquireNotify") { try $0.acquireNotify($1.peer, mtu: $1.mtu) },
      .init("Confirm") { [weak self] _ in
        self?.confirmed(by: nil)
        return []
      },
    ]
  }

  private func acquireMethod(
    _ name: String, _ makeSocket: @escaping @Sendable (LocalCharacteristic, RequestOptions) throws -> FileDescriptor
  ) -> Interface.Method {
    .init(name, in: [.init("options", "a{sv}")], out: [.init("fd", "h"), .init("mtu", "q")]) { [weak self] call in
      guard let self else { throw AttributeRefusal.failed.error }
      let options = try RequestOptions(call.arguments[0])
      return [.fileDescriptor(try makeSocket(self, options)), .uint16(UInt16(clamping: options.mtu))]
    }
  }
}

extension LocalDescriptor {
  func interface(characteristic: ObjectPath) -> Interface {
    let methods = AttributeMethods(read: read, write: write, authorize: authorize)
    return Interface(
      InterfaceName.descriptor,
      methods: [methods.readMethod(), methods.writeMethod()],
      properties: [
        .init("UUID", .string(uuid.description)),
        .init("Characteristic", .objectPath(characteristic)),
        .init("Flags", .strings(flags.bluezNames)),
      ])
  }
}
