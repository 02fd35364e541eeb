import DBus
import Streams

/// The options that bluetoothd passes with a request.
struct RequestOptions {
  let peer: Peer
  let mtu: Int
  let link: LinkType
  let offset: Int
  let kind: WriteRequest.Kind
  /// A Boolean value that indicates whether bluetoothd requests authorization for a long write that starts.
  let asksForAuthorization: Bool

  init(_ options: Value) throws {
    let options = options.properties ?? [:]
    guard let device = options["device"]?.objectPath else { throw AttributeRefusal.failed.error }
    peer = Peer(path: device)
    mtu = max(options["mtu"]?.integer(as: Int.self) ?? AttributeLimits.smallestMTU, AttributeLimits.smallestMTU)
    link = options["link"]?.string.flatMap(LinkType.init) ?? .le
    offset = options["offset"]?.integer(as: Int.self) ?? 0
    kind = options["type"]?.string.flatMap(WriteRequest.Kind.init) ?? .request
    asksForAuthorization = options["prepare-authorize"]?.bool ?? false
  }

  var read: ReadRequest { ReadRequest(peer: peer, mtu: mtu, link: link, offset: offset) }

  func write(_ value: [UInt8]) -> WriteRequest {
    WriteRequest(peer: peer, mtu: mtu, link: link, kind: kind, offset: offset, value: value)
  }
}

extension AttributeRefusal {
  var error: DBusError { DBusError(name: bluezName, message: "\(self)") }

  /// Converts the errors of a handler to errors that bluetoothd knows.
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

/// The methods that characteristics and descriptors have in common.
struct AttributeMethods: Sendable {
  let read: (@Sendable (ReadRequest) async throws -> [UInt8])?
  let write: (@Sendable (WriteRequest) async throws -> Void)?
  let authorize: (@Sendable (WriteRequest) async throws -> Void)?
  let longReads = Lock(LongReads())

  /// `ReadValue`.
  func readMethod() -> Interface.Method {
    .init("ReadValue", in: [.init("options", "a{sv}")], out: [.init("value", "ay")]) { call in
      let options = try RequestOptions(call.arguments[0])
      return try await AttributeRefusal.naming { [.bytes(try await piece(options))] }
    }
  }

  /// `WriteValue`.
  func writeMethod() -> Interface.Method {
    .init("WriteValue", in: [.init("value", "ay"), .init("options", "a{sv}")]) { call in
      let options = try RequestOptions(call.arguments[1])
      let request = options.write(call.arguments[0].bytes ?? [])
      try await AttributeRefusal.naming {
        // There is no value yet, so the write handler must not be called.
        guard let handler = options.asksForAuthorization ? authorize : write else {
          throw options.asksForAuthorization ? AttributeRefusal.notAuthorized : .notSupported
        }
        try await handler(request)
      }
      return []
    }
  }

  private func piece(_ options: RequestOptions) async throws -> [UInt8] {
    guard let read else { throw AttributeRefusal.notSupported }
    let kept = longReads.withLock { $0.value(for: options.peer, at: options.offset) }
    let value: [UInt8]
    if let kept { value = kept } else { value = try await read(options.read) }
    return try longReads.withLock {
      try $0.piece(of: value, for: options.peer, at: options.offset, mtu: options.mtu)
    }
  }
}
