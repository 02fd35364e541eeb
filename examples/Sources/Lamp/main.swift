// A lamp whose brightness others read and write.
//
//     Lamp [ADAPTER]
import BlueZ
import Streams

await Session.runProgram { session in
  let adapter = try await session.adapter(CommandLine.arguments.dropFirst().first)
  try await adapter.setPowered(true)

  let brightness = Lock<[UInt8]>([50])
  let dial = LocalCharacteristic(
    "ec0d0402-ec0d-ec0d-ec0d-ec0d0402ec0d", [.read, .write], read: { _ in brightness.withLock { $0 } },
    writes: .handler { request in brightness.withLock { $0 = request.value } })
  let lamp = LocalService("ec0d0401-ec0d-ec0d-ec0d-ec0d0401ec0d", characteristics: [dial])
  try await adapter.withServices([lamp]) { _ in
    try await adapter.withAdvertisement(.init(name: "Lamp", services: [lamp.uuid])) { _ in
      try await Task.sleep(for: .seconds(86_400))
    }
  }
}
