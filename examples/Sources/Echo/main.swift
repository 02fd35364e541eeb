// Returns each packet of each L2CAP channel to its sender.
//
//     Echo [ADAPTER]
import BlueZ

await Session.runProgram { session in
  let adapter = try await session.adapter(CommandLine.arguments.dropFirst().first)
  try await adapter.setPowered(true)

  let listener = try adapter.listen(psm: 0xd7)
  let service: BluetoothUUID = "ec0d0411-ec0d-ec0d-ec0d-ec0d0411ec0d"
  try await adapter.withAdvertisement(.init(name: "Echo", services: [service])) { _ in
    try await withThrowingDiscardingTaskGroup { group in
      for try await channel in listener {
        group.addTask { for try await packet in channel.packets { try await channel.send(packet) } }
      }
    }
  }
}
