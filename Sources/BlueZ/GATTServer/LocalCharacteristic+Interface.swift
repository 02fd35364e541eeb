import DBus

/// The characteristic as bluetoothd sees it: `org.bluez.GattCharacteristic1`.
extension LocalCharacteristic {
  func interface(service: ObjectPath) -> Interface {
    var properties: [Interface.Property] = [
      .init("UUID", .string(uuid.description)),
      .init("Service", .objectPath(service)),
      .init("Flags", .strings(flags.bluezNames)),
    ]
    var methods: [Interface.Method] = [
      .init("ReadValue", in: [.init("options", "a{sv}")], out: [.init("value", "ay")]) { [weak self] call in
        guard let self, let read = self.read else { throw AttributeRefusal.notSupported.error }
        return [try await self.slice(try RequestOptions(call.arguments[0]), read)]
      }
    ]
    switch writes {
    case .none: break
    case .handler(let handler):
      methods.append(
        .init("WriteValue", in: [.init("value", "ay"), .init("options", "a{sv}")]) { call in
          let request = try RequestOptions(call.arguments[1]).write(call.arguments[0].bytes ?? [])
          try await AttributeRefusal.naming { try await handler(request) }
          return []
        })
    case .socket(let handler):
      properties.append(.init("WriteAcquired", false))
      methods.append(
        .init("AcquireWrite", in: [.init("options", "a{sv}")], out: [.init("fd", "h"), .init("mtu", "q")]) {
          [weak self] call in
          guard let self else { throw AttributeRefusal.failed.error }
          let options = try RequestOptions(call.arguments[0])
          let (ours, theirs) = try PacketSocket.pair()
          let socket = try PacketSocket(owning: ours, onPacket: handler, onClose: {})
          self.state.withLock { $0.writeSocket = socket }
          return [.fileDescriptor(theirs), .uint16(UInt16(clamping: options.mtu))]
        })
    }
    if flags.contains(.notify) {
      // That the property exists is what makes bluetoothd ask for a socket.
      properties.append(.init("NotifyAcquired", false))
      methods.append(
        .init("AcquireNotify", in: [.init("options", "a{sv}")], out: [.init("fd", "h"), .init("mtu", "q")]) {
          [weak self] call in
          guard let self else { throw AttributeRefusal.failed.error }
          let options = try RequestOptions(call.arguments[0])
          let theirs = try self.acquireNotify(options.peer, mtu: options.mtu)
          return [.fileDescriptor(theirs), .uint16(UInt16(clamping: options.mtu))]
        })
    } else if flags.contains(.indicate) {
      methods += [
        .init("StartNotify") { [weak self] _ in
          self?.setNotifying(true)
          return []
        },
        .init("StopNotify") { [weak self] _ in
          self?.setNotifying(false)
          return []
        },
        .init("Confirm") { _ in [] },
      ]
      properties.append(.init("Value", "ay", get: { nil }))
    }
    return Interface(RemoteCharacteristic.interface, methods: methods, properties: properties)
  }

  /// Answers one read: the whole value is asked for at offset 0 and kept while the central reads the rest of it.
  private func slice(
    _ options: RequestOptions, _ read: @Sendable (ReadRequest) async throws -> [UInt8]
  ) async throws -> Value {
    let peer = options.peer
    let kept = options.offset > 0 ? state.withLock { $0.snapshots[peer] } : nil
    let value: [UInt8]
    if let kept {
      value = kept
    } else {
      value = try await AttributeRefusal.naming { try await read(ReadRequest(peer: peer, mtu: options.mtu)) }
    }
    guard options.offset <= value.count else { throw AttributeRefusal.invalidOffset.error }
    // A central that reads on asks again as long as it gets MTU − 1 bytes (Core Specification 3.F.3.4.4.5).
    let more = value.count - options.offset >= options.mtu - 1
    state.withLock { $0.snapshots[peer] = more ? value : nil }
    return .bytes(Array(value[options.offset...].prefix(PacketSocket.longestValue)))
  }
}

extension LocalDescriptor {
  func interface(characteristic: ObjectPath) -> Interface {
    let (read, write) = (read, write)
    return Interface(
      RemoteDescriptor.interface,
      methods: [
        .init("ReadValue", in: [.init("options", "a{sv}")], out: [.init("value", "ay")]) { call in
          guard let read else { throw AttributeRefusal.notSupported.error }
          let options = try RequestOptions(call.arguments[0])
          let value = try await AttributeRefusal.naming {
            try await read(ReadRequest(peer: options.peer, mtu: options.mtu))
          }
          guard options.offset <= value.count else { throw AttributeRefusal.invalidOffset.error }
          return [.bytes(Array(value[options.offset...].prefix(PacketSocket.longestValue)))]
        },
        .init("WriteValue", in: [.init("value", "ay"), .init("options", "a{sv}")]) { call in
          guard let write else { throw AttributeRefusal.notSupported.error }
          let request = try RequestOptions(call.arguments[1]).write(call.arguments[0].bytes ?? [])
          try await AttributeRefusal.naming { try await write(request) }
          return []
        },
      ],
      properties: [
        .init("UUID", .string(uuid.description)),
        .init("Characteristic", .objectPath(characteristic)),
        .init("Flags", .strings(flags.bluezNames)),
      ])
  }
}

/// The options bluetoothd passes with a request.
struct RequestOptions {
  /// The smallest ATT MTU of LE (Core Specification 3.G.5.2.1), for a bluetoothd that does not say.
  static let smallestMTU = 23

  let peer: Peer
  let mtu: Int
  let offset: Int
  let kind: WriteRequest.Kind

  init(_ options: Value) throws {
    let options = options.properties ?? [:]
    guard let device = options["device"]?.objectPath else { throw AttributeRefusal.failed.error }
    peer = Peer(path: device)
    mtu = max(options["mtu"]?.integer(as: Int.self) ?? Self.smallestMTU, Self.smallestMTU)
    offset = options["offset"]?.integer(as: Int.self) ?? 0
    kind = options["type"]?.string.flatMap(WriteRequest.Kind.init) ?? .request
  }

  func write(_ value: [UInt8]) -> WriteRequest {
    WriteRequest(peer: peer, mtu: mtu, kind: kind, offset: offset, value: value)
  }
}

extension AttributeRefusal {
  var error: DBusError { DBusError(name: bluezName, message: "\(self)") }

  /// Turns what a handler throws into an error bluetoothd understands.
  static func naming<R>(_ body: () async throws -> R) async throws -> R {
    do {
      return try await body()
    } catch let refusal as AttributeRefusal {
      throw refusal.error
    } catch {
      throw DBusError(name: AttributeRefusal.failed.bluezName, message: "\(error)")
    }
  }
}
