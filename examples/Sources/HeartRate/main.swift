// A heart-rate sensor that others can find and subscribe to.
import BlueZ

await Session.runProgram { session in
  let adapter = try await session.adapter()
  try await adapter.setPowered(true)
  let pulse = LocalCharacteristic("2a37", .notify)
  try await adapter.withServices([LocalService("180d", characteristics: [pulse])]) { _ in
    try await adapter.withAdvertisement(.init(name: "Pulse", services: ["180d"])) { _ in
      for beat in 60... {
        if pulse.isSubscribed { try await pulse.notify([0, UInt8(beat % 200)]) }
        try await Task.sleep(for: .seconds(1))
      }
    }
  }
}
