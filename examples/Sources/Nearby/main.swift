// Who advertises around here and what they say, for as long as you like to look.
//
//     Nearby [ADAPTER] [DBM]      -60 shows only who is near
import BlueZ

let words = CommandLine.arguments.dropFirst()
let session = try await Session.open()
let adapter = try await session.adapter(words.first { Int($0) == nil })
try await adapter.setPowered(true)
let strength = words.compactMap { Int($0) }.first
for await sighting in try await adapter.discover(.init(minimumRSSI: strength)) {
  guard let said = sighting.advertisement else {
    print(sighting.device, "is gone")
    continue
  }
  print(sighting.device, said.rssi.map { "\($0) dBm" } ?? "", said.services.map(\.description).sorted())
  for (company, data) in said.manufacturerData { print("  company", company, "says", data) }
  for (service, data) in said.serviceData { print("  service", service, "says", data) }
}
