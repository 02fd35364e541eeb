// An iBeacon whose minor number counts the minutes.
//
//     Beacon UUID [ADAPTER]
import BlueZ
import BlueZProfiles
import Foundation

let words = CommandLine.arguments.dropFirst()
let session = try await Session.open()
let adapter = try await session.adapter(words.dropFirst().first)
try await adapter.setPowered(true)

guard let uuid = words.first.flatMap(UUID.init(uuidString:)) else { fatalError("usage: Beacon UUID [ADAPTER]") }
func content(_ minute: UInt16) -> Advertisement.Content {
  let beacon = IBeacon(uuid: uuid, major: 1, minor: minute, measuredPower: -59)
  return .init(manufacturerData: [IBeacon.company: beacon.bytes], isConnectable: false)
}
let advertisement = try await adapter.advertise(content(0))
for minute in UInt16(1)... {
  try await Task.sleep(for: .seconds(60))
  try advertisement.update(content(minute))
}
