import BlueZ
import EdgeCoder
import Foundation

/// A stream of notifications from the plain C server.
extension Main {
  static func sockets(
    of address: String, on adapter: Adapter, limit: Int
  ) async throws -> (Notifications, CharacteristicWriter) {
    guard let device = BluetoothAddress(address).flatMap(adapter.device) else {
      throw Failure(what: "\(address) is not known")
    }
    try await device.connect()
    let service = try uuid(EdgeCoderUUIDs.service)
    return (
      try await device.characteristic(try uuid(EdgeCoderUUIDs.response), in: service).notifications(limit: limit),
      try await device.characteristic(try uuid(EdgeCoderUUIDs.request), in: service).writer()
    )
  }

  /// - Parameter sizes: how many values, of how many bytes, and the milliseconds to stall.
  static func stream(on adapter: Adapter, _ address: String, _ sizes: [Int]) async throws {
    let count = sizes[0]
    let size = sizes[1]
    let stall = sizes[2]
    let (values, writer) = try await sockets(of: address, on: adapter, limit: count)
    start()
    try await writer.write(Array("stream \(count) \(size)".utf8))
    var begun = ContinuousClock.now
    var came = 0
    for try await value in values {
      guard value.count == size else { throw Failure(what: "a value of \(value.count) bytes came") }
      let number = Int(value[0]) | Int(value[1]) << 8 | Int(value[2]) << 16 | Int(value[3]) << 24
      guard number == came else { throw Failure(what: "value \(number) came in the place of \(came)") }
      came += 1
      if came == 1 { begun = .now }
      // Not a suspension: the thread that runs the consumer stands still.
      if came == count / 10 { usleep(UInt32(stall) * 1000) }
      if came == count { break }
    }
    say("\((ContinuousClock.now - begun) / .microseconds(1))\n\(came)\n\(values.dropped)\n")
    _ = readLine()
  }
}
