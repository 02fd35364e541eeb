// Prints the advertisements of all devices in range, until it is stopped.
//
//     Nearby [ADAPTER] [DBM]      -60 shows only devices of −60 dBm or more
import BlueZ

let words = CommandLine.arguments.dropFirst()
await Session.runProgram { session in
  let adapter = try await session.adapter(words.first { Int($0) == nil })
  try await adapter.setPowered(true)
  let strength = words.compactMap { Int($0) }.first
  for await sighting in try await adapter.discover(.init(minimumRSSI: strength)) {
    guard let said = sighting.advertisement else {
      print(sighting.device, "is out of range")
      continue
    }
    print(sighting.device, said.rssi.map { "\($0) dBm" } ?? "", said.services.map(\.description).sorted())
    for (company, data) in said.manufacturerData { print("  company", company, "data", data) }
    for (service, data) in said.serviceData { print("  service", service, "data", data) }
  }
}
