// Who advertises around here and what they say, for as long as you like to look. Nearby -60 shows only who is near.
import BlueZ

let session = try await Session.open()
let adapter = try await session.adapter()
try await adapter.setPowered(true)
let strength = CommandLine.arguments.dropFirst().first.flatMap { Int($0) }
for await sighting in try await adapter.discover(.init(minimumRSSI: strength)) {
  guard let said = sighting.advertisement else {
    print(sighting.device, "is gone")
    continue
  }
  print(sighting.device, said.rssi.map { "\($0) dBm" } ?? "", said.services.map(\.description).sorted())
  for (company, data) in said.manufacturerData { print("  company", company, "says", data) }
  for (service, data) in said.serviceData { print("  service", service, "says", data) }
}
