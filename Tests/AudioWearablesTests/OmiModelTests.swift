import AudioIngestTesting
import SystemTesting
import Testing
import Timing

@testable import AudioIngest
@testable import AudioWearables

@Suite("Models of Omi devices") struct OmiModelTests {
  private static func model(_ services: [Int], _ characteristics: [Int], _ names: String...) -> OmiModel {
    OmiModel(
      services: Set(services.map(OmiWearable.uuid) + ["180f", "180a"]),
      audioCharacteristics: Set(characteristics.map(OmiWearable.uuid)), names: names)
  }

  @Test("A model is recognized by its services") func aModelIsKnownByWhatItOffers() {
    #expect(Self.model([0], [1, 2], "Omi DevKit 2") == .devKit)
    #expect(Self.model([0], [1, 2, 3], "Friend") == .devKit)
    #expect(Self.model([0, 0x10, 0x20, 0x30, 0x40], [1, 2], "Omi") == .cv1)
    #expect(Self.model([0, 0x30], [1, 2]) == .cv1)
    #expect(Self.model([0], [1, 2, 5, 6], "OMI Glass") == .omiGlass)
    #expect(Self.model([0], [1, 2, 5]) == .omiGlass)
    // 19B10010 is the CV1's settings, and the glasses' firmware updates.
    #expect(Self.model([0, 0x10], [1, 2, 5, 6], "OMI Glass") == .omiGlass)
    #expect(Self.model([0], [1, 2, 5, 6], "OpenGlass") == .openGlass)
  }

  /// What the sources say of each (spec/audio.md, 8).
  @Test("Each model has the capabilities in its documents", arguments: OmiModel.allCases) func eachHasItsOwnWays(
    _ model: OmiModel
  ) throws {
    let ways: [OmiModel: (battery: Bool, mtu: Int?, stores: Bool)] = [
      .devKit: (true, nil, true), .cv1: (true, 100, true), .omiGlass: (true, 166, false),
      .openGlass: (false, 166, false),
    ]
    let way = try #require(ways[model])
    #expect(way.battery == model.reportsBattery)
    #expect(way.mtu == model.smallestMTU)
    #expect(way.stores == model.storesAudio)
    #expect(!model.title.isEmpty)
  }

  @Test("The format of a store is recognized by its status and firmware") func aStoreIsKnownByItsStatusAndFirmware() {
    let eight = [UInt8](repeating: 0, count: 8)
    let sixteen = [UInt8](repeating: 0, count: 16)
    for firmware in [nil, "2.0.10", "3.0.12", "3.0.16", "1.0.3", "v3.0.2"] {
      #expect(OmiModel.storedFormat(status: eight, firmware: firmware) == .file, "\(firmware ?? "")")
    }
    for firmware in ["3.0.17", "3.0.18", "3.0.19", "v3.0.19-beta"] {
      #expect(OmiModel.storedFormat(status: eight, firmware: firmware) == nil, "\(firmware)")
    }
    for firmware in [nil, "3.0.20", "4.1"] {
      #expect(OmiModel.storedFormat(status: sixteen, firmware: firmware) == .ring)
    }
    for count in [0, 7, 12, 17] {
      #expect(OmiModel.storedFormat(status: [UInt8](repeating: 0, count: count), firmware: nil) == nil)
    }
  }

  /// Found, heard and named.
  @Test(
    "Each model is found and recorded",
    .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)),
    arguments: [("Omi", false), ("OMI Glass", true), ("OpenGlass", true)])
  func eachIsFoundAndHeard(_ name: String, _ isGlass: Bool) async throws {
    let temporary = try TemporaryFolder()
    let folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
    let lab = try await FakeRadio()
    let time = StillTime()
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: 1, name: name, isGlass: isGlass)
    let recorder = WearableRecorder(OmiWearable(), at: lab.adapters[1], into: folder, settings: .standing(time))
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    try await wearable.send((0..<10).map { Array(StoredSound.block($0)[1...160]) })
    try await recorder.waitForNotifications(10)
    var status = await recorder.status()
    while status.model == nil {
      try await Task.sleep(for: .milliseconds(5), clock: .steady)
      status = await recorder.status()
    }
    #expect(status.model == ["Omi": "Omi", "OMI Glass": "omiGlass", "OpenGlass": "OpenGlass"][name])
    #expect(status.live?.codec == .pcm8k)
    #expect((wearable.time != nil) == !isGlass)
    running.cancel()
    try await running.value
    try await lab.stop()
  }
}
