import AudioIngest
import AudioIngestTesting
import AudioWearables
import BlueZ
import EdgeCoder
import Foundation
import Testing

/// Strangers of every kind at once, for `EDGEBLUE_ATTACK_SECONDS`; ten when nothing is said.
extension RadioTests.Access {
  /// A phone, a central that its user has paired with it, and a recorder of a chosen wearable. On the same air are phones,
  /// a wearable and centrals that nobody knows.
  @Test("Among strangers of every kind good peers are served, and no stranger learns anything", .timeLimit(.minutes(5)))
  func strangersLearnNothing() async throws {
    let peer = try LabPeer("edgecoder_strangers.py", ["--adapters", "3", "--timeout", "290"])
    defer { peer.terminate() }
    let phoneName = try await peer.adapterName()
    let mac = try await Radio.adapter(try await peer.adapterName())
    let worn = try await Radio.adapter(try await peer.adapterName())
    let phoneAddress = try await Radio.adapter(phoneName).address
    let temporary = try TemporaryFolder()
    let recorder = WearableRecorder(
      OmiWearable(), at: mac, address: worn.address,
      into: try SegmentFolder(path: temporary.path, limits: .init(reserve: 0)),
      // One bluetoothd has both ends, so that nobody could agree to a pairing.
      settings: .init(fetchesStored: false, pairs: false))
    let wearable = try await FakeWearable(on: worn)
    let events = recorder.events()
    let problems = Task { for await case .problem(let problem) in events { print("the recorder: \(problem)") } }
    defer { problems.cancel() }
    try await withPhone(on: phoneName, access: .encrypted()) { phone in
      try await befriend(mac, phoneName, phoneAddress)
      try await withCentral(at: mac, access: .encrypted()) { central in
        try await central.waitForPhones()
        let recording = Task { try await recorder.run() }
        try await wearable.waitForSubscriber()
        try await peer.type("\(phoneAddress)")
        _ = try await peer.next("attacking")
        let tally = try await self.serve(central, recorder, wearable)
        try await peer.type("over")
        let done = try await peer.next("done")
        print("\(tally); \(done); \(await phone.snapshot().counters)")
        expectNothing(done)
        tally.expectAllServed()
        #expect(await phone.snapshot().counters.requests == tally.replies)
        #expect(await central.status().phones.count { $0.state != "discovered" } == 1)
        recording.cancel()
        try await recording.value
      }
    }
  }

  /// Pairs a central with a phone, as their two users do.
  private func befriend(_ mac: Adapter, _ phoneName: String, _ phone: BluetoothAddress) async throws {
    let own = try await mac.session.register(PairingAgent())
    let agent = PairingAgent(authorizePairing: { $0.address == mac.address })
    try await withWindow(on: phoneName, agent) {
      try await mac.find(phone, timeout: .seconds(60)).pair()
    }
    try await own.unregister()
  }

  private func expectNothing(_ done: [String: any Sendable]) {
    for (kind, count) in ["phone": 2, "wearable": 1] {
      #expect(done["\(kind)-advertised"] as? Int == count)
      #expect(done["\(kind)-connected"] as? Int == 0, "a strange \(kind) was connected")
      #expect(done["\(kind)-accessed"] as? Int == 0, "a strange \(kind) was accessed")
    }
    #expect((done["central-tried"] as? Int ?? 0) > 0)
    #expect(done["central-let-in"] as? Int == 0)
    #expect(done["central-heard"] as? Int == 0)
  }

  /// What the good peers did during the attack.
  private struct Tally: CustomStringConvertible {
    var replies = 0
    var slowest = Duration.zero
    var frames = 0
    var recorded = 0
    /// Whether the wearable kept its link: on a host that is busy with other guests a link may time out. That a recorder
    /// comes back is for other tests.
    var keptWearable = true
    /// The resident memory of this process after a third of the attack, and at its end, in KiB.
    var memory: [Int] = []
    /// That of bluetoothd.
    var daemonMemory: [Int] = []

    var description: String {
      "\(replies) replies, the slowest after \(slowest); \(recorded) of \(frames) frames recorded; memory \(memory) KiB, "
        + "that of bluetoothd \(daemonMemory) KiB"
    }

    mutating func measure() throws {
      memory.append(try residentMemory(of: "self"))
      daemonMemory.append(try residentMemory(of: try bluetoothd()))
    }

    func expectAllServed() {
      #expect(replies > 0)
      // On a busy host the emulated machine answers at its own pace.
      #expect(slowest < .seconds(15))
      #expect(frames > 0)
      #expect(recorded == frames || !keptWearable)
      for values in [memory, daemonMemory] {
        #expect(values.count == 2)
        #expect((values.last ?? 0) - (values.first ?? 0) < 8 << 10, "\(self)")
      }
    }
  }

  /// Prompts and audio until the attack has lasted long enough.
  private func serve(
    _ central: Central, _ recorder: WearableRecorder, _ wearable: FakeWearable
  ) async throws -> Tally {
    let seconds = Int(ProcessInfo.processInfo.environment["EDGEBLUE_ATTACK_SECONDS"] ?? "") ?? 10
    let begun = ContinuousClock.now
    var tally = Tally()
    while ContinuousClock.now - begun < .seconds(seconds) {
      let asked = ContinuousClock.now
      let reply = try await central.generate(prompt: "\(tally.replies) is my number", maxTokens: nil)
      #expect(reply.answer.output == "\(tally.replies) is my number")
      tally.slowest = max(tally.slowest, ContinuousClock.now - asked)
      tally.replies += 1
      do {
        let frames = (0..<10).map { Recording.bytes(Recording.ramp($0 * 160..<($0 + 1) * 160)) }
        if tally.keptWearable { try await wearable.send(frames) }
        tally.frames += frames.count
      } catch let error as BlueZError where error.code == .notConnected {
        print("the wearable lost its recorder: \(error); the recorder: \(await recorder.status().state)")
        tally.keptWearable = false
      }
      if tally.memory.isEmpty, ContinuousClock.now - begun > .seconds(seconds / 3) {
        try tally.measure()
      }
      // Within its own requests a minute.
      try await Task.sleep(for: .milliseconds(600), clock: .steady)
    }
    try tally.measure()
    let frames = tally.frames
    if tally.keptWearable {
      try await bounded(.seconds(30), "the last frames") { try await recorder.waitForNotifications(frames) }
    }
    tally.recorded = await recorder.status().live?.counters.notifications ?? 0
    return tally
  }
}

/// Returns the resident memory of a process in KiB.
private func residentMemory(of process: String) throws -> Int {
  let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
  let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
  return try #require(Int(line.filter(\.isNumber)))
}

/// Returns the process of bluetoothd, of which a host has one.
private func bluetoothd() throws -> String {
  let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { $0.allSatisfy(\.isNumber) }
  return try #require(
    processes.first { (try? String(contentsOfFile: "/proc/\($0)/comm", encoding: .utf8)) == "bluetoothd\n" })
}
