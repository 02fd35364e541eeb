// Finds a lamp, reads its brightness, writes half of it, and leaves.
//
//     Dimmer [ADAPTER]
import BlueZ

await Session.runProgram { session in
  let adapter = try await session.adapter(CommandLine.arguments.dropFirst().first)
  try await adapter.setPowered(true)

  let service: BluetoothUUID = "ec0d0401-ec0d-ec0d-ec0d-ec0d0401ec0d"
  try await adapter.withConnection(to: .init(services: [service])) { lamp in
    let dial = try lamp.characteristic("ec0d0402-ec0d-ec0d-ec0d-ec0d0402ec0d", in: service)
    let before = try await dial.read().first ?? 0
    try await dial.write([before / 2])
    print(lamp, "had", before, "and has", try await dial.read().first ?? 0)
  }
}
