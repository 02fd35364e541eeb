// Finds a heart-rate sensor, connects whenever it is in range, and prints its notifications.
//
//     PulseReader [ADAPTER]
import BlueZ
import BlueZProfiles
import Dispatch
import Glibc

let reading = Task {
  let session = try await Session.open()
  defer { session.close() }
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

// Asked to end, it ends the session with the links that it made.
let ends = [SIGINT, SIGTERM].map { number in
  signal(number, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
  source.setEventHandler { reading.cancel() }
  source.resume()
  return source
}

do {
  try await reading.value
} catch {
  // When it is cancelled, what was under way says so in its own words.
  if !reading.isCancelled {
    print(error)
    exit(1)
  }
}
withExtendedLifetime(ends) {}
