import BlueZ
import Streams
import Testing

/// A server with every kind of attribute, for an independent client (`lab/python/gatt_stranger.py`).
final class ServedGATT: Sendable {
  static func uuid(_ number: Int) -> BluetoothUUID {
    let digits = (number < 16 ? "0" : "") + String(number, radix: 16)
    return BluetoothUUID(stringLiteral: "ec0d03\(digits)-ec0d-ec0d-ec0d-ec0d03\(digits)ec0d")
  }

  let service: LocalService
  let late = LocalService(uuid(0x10), characteristics: [LocalCharacteristic(uuid(0x11), value: [42])])
  let indicating = LocalCharacteristic(uuid(6), .indicate)
  let both = LocalCharacteristic(uuid(7), [.notify, .indicate])
  /// What was written to the two characteristics that can be.
  let written: BoundedStream<WriteRequest>
  /// How often it was asked about a long write; the first time it refuses.
  let pieces = Lock(0)

  init() {
    let (written, source) = BoundedStream.make(of: WriteRequest.self, limit: 16)
    let note = Lock([UInt8]())
    let reads = Lock(UInt8(0))
    let pieces = pieces
    self.written = written
    let static_ = LocalCharacteristic(
      Self.uuid(2), value: Pattern.bytes(0..<512),
      descriptors: [
        LocalDescriptor("2901", value: Array("static".utf8)),
        LocalDescriptor(
          Self.uuid(0x13), [.read, .write], read: { _ in note.withLock { $0 } },
          write: { request in note.withLock { $0 = request.value } }),
      ])
    // Were a long read made of several answers, its bytes would differ.
    let changing = LocalCharacteristic(
      Self.uuid(3), .read,
      read: { _ in
        reads.withLock { reads in
          reads += 1
          return [UInt8](repeating: reads, count: 100)
        }
      })
    let long = LocalCharacteristic(
      Self.uuid(4), .write,
      writes: .handler { request in
        guard request.offset == 0 else { throw AttributeRefusal.invalidOffset }
        source.yield(request)
      })
    let reliable = LocalCharacteristic(
      Self.uuid(5), [.write, .reliableWrite, .authorize], writes: .handler { source.yield($0) },
      authorize: { _ in
        let number = pieces.withLock { pieces in
          pieces += 1
          return pieces
        }
        if number == 1 { throw AttributeRefusal.notAuthorized }
      })
    let battery = LocalService(
      "180f", isPrimary: false, characteristics: [LocalCharacteristic("2a19", value: [87])])
    service = LocalService(
      Self.uuid(1), includes: [battery], characteristics: [static_, changing, long, reliable, indicating, both])
  }
}
