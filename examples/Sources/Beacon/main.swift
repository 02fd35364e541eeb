// An iBeacon whose minor number counts the minutes.
//
//     Beacon UUID [ADAPTER]
import BlueZ
import BlueZProfiles
import Foundation

let words = CommandLine.arguments.dropFirst()
guard let uuid = words.first.flatMap(UUID.init(uuidString:)) else {
  print("usage: Beacon UUID [ADAPTER]")
  exit(2)
}
await Session.runProgram { session in
  let adapter = try await session.adapter(words.dropFirst().first)
  try await adapter.setPowered(true)

  func content(_ minute: UInt16) -> Advertisement.Content {
    let beacon = IBeacon(uuid: uuid, major: 1, minor: minute, measuredPower: -59)
    return .init(manufacturerData: [IBeacon.company: beacon.bytes], isConnectable: false)
  }
  try await adapter.withAdvertisement(content(0)) { advertisement in
    for minute in UInt16(1)... {
      try await Task.sleep(for: .seconds(60))
      try advertisement.update(content(minute))
    }
  }
}
