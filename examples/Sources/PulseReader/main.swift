// Finds a heart-rate sensor, connects, and prints its notifications.
//
//     PulseReader [ADAPTER]
import BlueZ

let session = try await Session.open()
let adapter = try await session.adapter(CommandLine.arguments.dropFirst().first)
try await adapter.setPowered(true)

/// Returns the first sensor in range; the scan stops when the loop ends.
func findSensor() async throws -> Device? {
  for await sighting in try await adapter.discover(.init(services: ["180d"])) where !sighting.isLost {
    return sighting.device
  }
  return nil
}

guard let sensor = try await findSensor() else { fatalError("the scan ended") }
try await sensor.connect()
print("connected to", sensor)
let pulse = try sensor.characteristic("2a37", in: "180d")
for try await value in try await pulse.notifications() where value.count >= 2 {
  // Bit 0 of the flags indicates a rate of two bytes instead of one.
  let rate = value[0] & 1 == 0 || value.count == 2 ? Int(value[1]) : Int(value[1]) | Int(value[2]) << 8
  print(rate, "beats per minute")
}
print("disconnected")
