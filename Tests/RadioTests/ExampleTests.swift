import BlueZ
import Foundation
import Testing

extension RadioTests {
  @Suite("The built example programs, over the radio") struct Examples {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../..").standardized.path
    private static let folder = root + "/.build-examples/debug/"
    private static let edgeblue = root + "/.build/debug/edgeblue"
    private static let areBuilt = [
      "Beacon", "Bond", "Dimmer", "Echo", "Explorer", "HeartRate", "HeartRateMonitor", "Lamp", "Nearby", "Phone",
      "PulseReader", "UARTBridge",
    ].allSatisfy { FileManager.default.isExecutableFile(atPath: folder + $0) }
    private static let needed: Comment = "needs the examples: scripts/build-examples"
    /// The duration of a scan, in seconds: btvirt reports an advertisement once in each round of the kernel's scan, which
    /// lasts 10 s.
    private static let scanTime = "12"

    /// A heart-rate sensor takes the first adapter there is. To the others it is new: of a device whose services an
    /// earlier test has read, bluetoothd 5.66 goes on saying those.
    private func others() async throws -> String {
      let names = Radio.names.sorted()
      let sensor = try await Radio.adapter(names[0]).address
      try await Radio.adapter(names[1]).device(sensor)?.remove()
      return names[1]
    }

    /// Starts an example that prints a line when it has one.
    private func start(_ name: String, _ arguments: String...) throws -> Subprocess {
      try Subprocess("/usr/bin/stdbuf", ["-oL", Self.folder + name] + arguments)
    }

    /// What a command printed, when it ended with success.
    private func output(of command: String, _ arguments: [String]) async throws -> [String] {
      let process = try Subprocess(command, arguments)
      return try await bounded(.seconds(60), "\(command) \(arguments)") {
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        let status = await process.status()
        try #require(status == 0, "\(arguments) ended with \(status): \(lines)")
        return lines
      }
    }

    @Test("The heart-rate example is found, read and inspected", .enabled(if: areBuilt, needed))
    func aHeartRateSensorIsSeenAndReadAndInspected() async throws {
      let sensor = try start("HeartRate")
      defer { sensor.terminate() }
      let adapter = try await others()

      let nearby = try start("Nearby", adapter)
      let seen = try await nearby.line(with: "Pulse")
      nearby.terminate()
      #expect(seen.contains("180d"))

      let reader = try start("PulseReader", adapter)
      _ = try await reader.line(with: "connected to")
      let beats = try await reader.line(with: "beats per minute")
      reader.terminate()
      #expect(Int(beats.prefix { $0.isNumber }).map { $0 >= 60 } == true)

      let scan = try await output(
        of: Self.edgeblue, ["scan", "--service", "180d", "--seconds", Self.scanTime, "--adapter", adapter])
      let found = try #require(scan.last)
      #expect(scan.count == 2, "\(scan)")
      #expect(found.contains("Heart Rate"), "\(scan)")
      let address = try #require(found.split(separator: " ").first { $0.filter { $0 == ":" }.count == 5 })

      let tree = try await output(of: Self.edgeblue, ["inspect", "--adapter", adapter, String(address)])
      #expect(tree.contains { $0.hasPrefix("Heart Rate  180d") }, "\(tree)")
      let measurement = try #require(tree.first { $0.contains("Heart Rate Measurement  2a37") }, "\(tree)")
      #expect(measurement.contains("notify"))
      let configurations = tree.filter { $0.contains("Client Characteristic Configuration  2902") }
      #expect(configurations.contains { $0.contains("= off") }, "\(tree)")

      let explored = try await output(of: Self.folder + "Explorer", [String(address), adapter])
      #expect(explored.filter { $0.contains("Measurement  2a37") }.contains { $0.contains("[notify]") }, "\(explored)")
      #expect(explored.filter { $0.contains("  2902") }.contains { $0.hasSuffix("= 0000") }, "\(explored)")
    }

    @Test("An app's file for Apple's platforms reads the heart-rate example", .enabled(if: areBuilt, needed))
    func anAppReadsTheSensor() async throws {
      let sensor = try start("HeartRate")
      defer { sensor.terminate() }
      let adapter = try await others()
      let command = ["COREBLUETOOTH_ADAPTER=\(adapter)", "/usr/bin/stdbuf", "-oL", Self.folder + "HeartRateMonitor"]
      let monitor = try Subprocess("/usr/bin/env", command)
      _ = try await monitor.line(with: "connected to")
      let beats = try await monitor.line(with: "beats per minute")
      #expect(Int(beats.prefix { $0.isNumber }).map { $0 >= 60 } == true)
      monitor.terminate()
      _ = try await monitor.line(with: "disconnected")
      #expect(await monitor.status() == 0)
      let left = try await Radio.adapter(adapter).devices.filter(\.isConnected)
      #expect(left.isEmpty)
    }

    /// The link stays up without its program, so that the sensor no longer has to advertise. `EDGEBLUE_KILLS=100` kills
    /// as often as the specification does.
    @Test("A reader that is killed is followed by one that reads the same sensor", .enabled(if: areBuilt, needed))
    func aKilledReaderIsFollowed() async throws {
      let kills = ProcessInfo.processInfo.environment["EDGEBLUE_KILLS"].flatMap { Int($0) } ?? 3
      let sensor = try start("HeartRate")
      defer { sensor.terminate() }
      let adapter = try await others()
      var times: [Duration] = []
      for _ in 0..<kills {
        let begin = ContinuousClock.now
        let reader = try start("PulseReader", adapter)
        _ = try await reader.line(with: "connected to")
        times.append(ContinuousClock.now - begin)
        _ = try await reader.line(with: "beats per minute")
        reader.kill()
        _ = await reader.status()
      }
      print("\(kills) readers killed; the next one was connected after \(times.min()!) to \(times.max()!)")
      let last = try start("PulseReader", adapter)
      _ = try await last.line(with: "beats per minute")
      #expect(try await last.end() == 0)
    }

    @Test("Examples without a message bus print the reason, and do not crash", .enabled(if: areBuilt, needed))
    func withoutABus() async throws {
      let address = "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent/bus"
      for name in ["Dimmer", "Lamp", "PulseReader"] {
        // The errors in the place of the output.
        let process = try Subprocess("/bin/sh", ["-c", "\(address) \(Self.folder)\(name) 2>&1"])
        let line = try await process.line(with: "message bus")
        #expect(!line.contains("Fatal error"), "\(name): \(line)")
        #expect(await process.status() == 1, "\(name)")
      }
    }

    /// In a terminal the table is drawn over itself, and the last one stays.
    @Test("The phone example appears in a terminal's scan and answers", .enabled(if: areBuilt, needed))
    func aPhoneIsShownInATerminalAndAnswers() async throws {
      let phone = try start("Phone", Radio.phone)
      defer { phone.terminate() }
      _ = try await phone.line(with: "A phone at")
      let scan = "TERM=xterm \(Self.edgeblue) scan --seconds \(Self.scanTime) --adapter \(Radio.mac)"
      let frames = try await output(of: "/usr/bin/script", ["-qec", scan, "/dev/null"])
      #expect(frames.contains { $0.contains("\u{1b}[2A") }, "\(frames)")
      // Not the name of its service: where an earlier test has read this address's services, bluetoothd 5.66 goes on
      // saying those, and only its filter shows that it hears the new ones.
      #expect(frames.contains { $0.contains("Mirror") }, "\(frames)")

      let answer = try await output(
        of: Self.edgeblue, ["ask", "--direct", "--adapter", Radio.mac, "--access", "open", "one two three"])
      #expect(answer.last?.hasPrefix("three two one") == true, "\(answer)")
    }

    @Test("The dimmer example reads and writes the lamp example", .enabled(if: areBuilt, needed))
    func aLampIsDimmed() async throws {
      let names = Radio.names.sorted()
      let lamp = try start("Lamp", names[0])
      defer { lamp.terminate() }
      let lines = try await output(of: Self.folder + "Dimmer", [try await others()])
      #expect(lines.last?.hasSuffix("had 50 and has 25") == true, "\(lines)")
    }

    @Test("The beacon example is an iBeacon", .enabled(if: areBuilt, needed))
    func aBeacon() async throws {
      let uuid = UUID()
      let beacon = try start("Beacon", uuid.uuidString, Radio.phone)
      defer { beacon.terminate() }
      let adapter = try await Radio.adapter(Radio.mac)
      // Beacons do not have the discoverable flag.
      let results = try await adapter.discover(.init(pattern: "", duplicates: true))
      let content: [UInt8] = [0x02, 0x15] + withUnsafeBytes(of: uuid.uuid) { Array($0) } + [0, 1, 0, 0, 0xc5]
      try await bounded(.seconds(60), "the beacon") {
        for await result in results where result.advertisement?.manufacturerData[0x004c] == content { return }
        throw TestTimeout(phase: "the scan ended")
      }
      adapter.session.close()
    }

    @Test("The bond example pairs with a device that admits it", .enabled(if: areBuilt, needed))
    func aBond() async throws {
      let phone = try await Radio.adapter(Radio.phone)
      let mac = try await Radio.adapter(Radio.mac)
      for (adapter, peer) in [(phone, mac.address), (mac, phone.address)] {
        try await adapter.device(peer)?.remove()
      }
      let window = try await phone.openPairingWindow(for: .seconds(120))
      let advertisement = try await phone.advertise(.init(name: "Bonds", services: ["180f"]))
      // One bluetoothd serves both adapters and asks the example's agent for both; its user says yes to each question.
      let command = "yes yes | \(Self.folder)Bond \(phone.address) \(Radio.mac)"
      let lines = try await output(of: "/bin/sh", ["-c", command])
      #expect(lines.last == "bonded: true", "\(lines)")
      for (adapter, peer) in [(phone, mac.address), (mac, phone.address)] {
        try await adapter.device(peer)?.remove()
      }
      withExtendedLifetime((window, advertisement)) {}
      phone.session.close()
      mac.session.close()
    }

    @Test("The echo example returns packets", .enabled(if: areBuilt, needed))
    func anEcho() async throws {
      let echo = try start("Echo", Radio.phone)
      defer { echo.terminate() }
      let adapter = try await Radio.adapter(Radio.mac)
      let filter = Adapter.DiscoveryFilter(services: ["ec0d0411-ec0d-ec0d-ec0d-ec0d0411ec0d"])
      let device = try await adapter.find(filter, timeout: .seconds(60))
      let channel = try await device.openChannel(psm: 0xd7)
      try await channel.send([1, 2, 3])
      let packet = try await bounded(.seconds(30), "the packet") { try await channel.packets.first { _ in true } }
      #expect(packet == [1, 2, 3])
      channel.close()
      // bluetoothd takes two seconds for it, in which the next test would use the connection.
      try await device.disconnect()
      adapter.session.close()
    }

    @Test("The serial cable example carries bytes both ways", .enabled(if: areBuilt, needed))
    func aSerialCable() async throws {
      let listener = try start("UARTBridge", "listen", Radio.phone)
      defer { listener.terminate() }
      let call = "echo what goes in comes out | \(Self.folder)UARTBridge call \(Radio.mac) 2>&1"
      _ = try await output(of: "/bin/sh", ["-c", call])
      let came = try await listener.line(with: "what")
      #expect(came == "what goes in comes out")
    }
  }
}
