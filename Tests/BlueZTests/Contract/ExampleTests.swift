import BlueZ
import BlueZTesting
import Testing

/// The example of the README.
extension ContractTests {
  @Test("A pulse is received despite a bad radio") func aPulseIsHeardOverABadRadio() async throws {
    let lab = try await FakeBlueZ.start()
    let wrist = try await lab.adapter(0)
    let phone = try await lab.adapter(1)
    let pulse = LocalCharacteristic("2a37", .notify)
    let sensor = try await wrist.offer([LocalService("180d", characteristics: [pulse])])
    let advertisement = try await wrist.advertise(.init(name: "Pulse", services: ["180d"]))

    lab.adapters[1].inject(.connectAborts(times: 2))
    let device = try await phone.find(wrist.address)
    try await device.connect()
    var beats = try await device.characteristic("2a37", in: "180d").notifications().makeAsyncIterator()
    try await pulse.notify([0, 72])
    #expect(try await beats.next() == [0, 72])

    try await advertisement.stop()
    try await sensor.unregister()
    try await lab.stop()
  }
}
