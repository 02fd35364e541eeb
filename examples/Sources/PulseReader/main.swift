// Finds a heart-rate sensor, connects whenever it is in range, and prints its notifications.
//
//     PulseReader [ADAPTER]
import BlueZ
import BlueZProfiles
import Dispatch
import Glibc

do {
  let session = try await Session.open()
  let ends = end(session, at: [SIGINT, SIGTERM])
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
  withExtendedLifetime(ends) {}
} catch {
  print(error)
  exit(1)
}

/// Ends the session, with the links that it made, when the program is asked to end.
func end(_ session: Session, at signals: [CInt]) -> [any DispatchSourceSignal] {
  signals.map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      session.close()
      exit(0)
    }
    source.resume()
    return source
  }
}
