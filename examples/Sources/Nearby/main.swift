// Who advertises around here, for as long as you like to look.
import BlueZ

let session = try await Session.open()
let adapter = try await session.adapter()
try await adapter.setPowered(true)
for await sighting in try await adapter.discover() where !sighting.isLost {
  print(sighting.device, sighting.rssi.map { "\($0) dBm" } ?? "", sighting.device.advertisedServices)
}
