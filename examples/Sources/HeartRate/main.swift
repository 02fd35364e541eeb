// A heart-rate sensor that others can find and subscribe to.
import BlueZ

let session = try await Session.open()
let adapter = try await session.adapter()
try await adapter.setPowered(true)
let pulse = LocalCharacteristic("2a37", .notify)
let sensor = try await adapter.offer([LocalService("180d", characteristics: [pulse])])
let advertisement = try await adapter.advertise(.init(name: "Pulse", services: ["180d"]))
for beat in 60... {
  if pulse.isSubscribed { try await pulse.notify([0, UInt8(beat % 200)]) }
  try await Task.sleep(for: .seconds(1))
}
