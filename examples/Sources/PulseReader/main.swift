// Finds a heart-rate sensor, connects whenever it is in range, and prints its notifications.
//
//     PulseReader [ADAPTER]
import BlueZ
import BlueZProfiles

await Session.runProgram { session in
  let adapter = try await session.adapter(CommandLine.arguments.dropFirst().first)
  try await adapter.setPowered(true)

  let connection = try await adapter.connect(to: .init(services: ["180d"]), .keepConnected())
  try await connection.whileConnected { sensor in
    print("connected to", sensor)
    for try await value in try await sensor.characteristic("2a37", in: "180d").notifications() {
      print(try HeartRateMeasurement(bytes: value).beatsPerMinute, "beats per minute")
    }
    print("disconnected")
  }
}
