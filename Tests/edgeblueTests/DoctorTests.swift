import BlueZ
import EdgeCoderTesting
import Foundation
import SystemTesting
import Testing
import Uploads

@testable import edgeblue

@Suite("The checks of doctor that read files") struct SystemChecksTests {
  private func findings(_ files: [String: String], of release: BlueZRelease? = nil) throws -> [Finding] {
    let root = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UUID().uuidString)")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    for (path, text) in files {
      let file = root.appending(path: path)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    return SystemChecks(root: root.path, release: release).findings()
  }

  private static func radio(soft: Int, hard: Int, type: String = "bluetooth") -> [String: String] {
    let folder = "sys/class/rfkill/rfkill0"
    return [
      "\(folder)/type": type, "\(folder)/soft": "\(soft)\n", "\(folder)/hard": "\(hard)\n", "\(folder)/name": "hci0\n",
    ]
  }

  @Test("A kernel without Bluetooth fails the check") func anEmptyMachine() throws {
    let found = try findings([:])
    #expect(found.map(\.level) == [.fail, .ok, .warn, .warn, .ok])
    #expect(found[0].message == "the kernel has no Bluetooth")
  }

  @Test("A kernel without a controller fails the check") func aKernelWithoutAController() throws {
    #expect(try findings(["sys/module/bluetooth/version": "2.22"])[0].message == "no Bluetooth controller")
  }

  @Test(
    "A kernel that devices can crash causes a warning",
    arguments: [
      ("#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)", "6.1.0-57-amd64", "6.1.192-3"),
      ("#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-01)", "6.1.0-50-amd64", nil),
      ("#1 SMP PREEMPT_DYNAMIC Debian 6.12.118-1 (2026-11-01)", "6.12.118+deb13-amd64", nil),
      ("#1 SMP Mon Nov 30 12:00:00 GMT 2026", "6.1.193-v8+", "6.1.193-v8+"), ("#1 SMP", "6.1.21-v8+", nil),
      ("#1 SMP", "6.1", nil), ("#1 SMP", "6.1.99999999999999999999", nil),
    ])
  func aKernelThatDevicesCanCrash(build: String, release: String, faulty: String?) throws {
    let found = try findings(["proc/sys/kernel/version": "\(build)\n", "proc/sys/kernel/osrelease": "\(release)\n"])
    let warning = found.first { $0.check == "kernel" && $0.level == .warn }
    #expect(warning?.message.hasPrefix("Linux \(faulty ?? "") crashes") == (faulty == nil ? nil : true))
  }

  @Test("Controllers are listed, but not their connections") func controllersButNotTheirLinks() throws {
    let found = try findings(["sys/class/bluetooth/hci0/x": "", "sys/class/bluetooth/hci0:11/x": ""])
    #expect(found[0] == Finding("kernel", .ok, "controllers: hci0"))
  }

  @Test("A blocked Bluetooth radio fails the check") func aRadioSwitchedOff() throws {
    #expect(try findings(Self.radio(soft: 1, hard: 0))[1].fix == "rfkill unblock bluetooth")
    #expect(try findings(Self.radio(soft: 0, hard: 1))[1].message == "hci0 is blocked by a hardware switch")
    #expect(try findings(Self.radio(soft: 0, hard: 0))[1].level == .ok)
    #expect(try findings(Self.radio(soft: 1, hard: 1, type: "wlan"))[1].level == .ok)
  }

  @Test(
    "More than one ATT channel causes a warning",
    arguments: [
      ("[GATT]\nChannels = 1\n", Finding.Level.ok), ("[GATT]\r\nChannels=1\r\n", .ok),
      ("[GATT]\n#Channels = 1\n", .warn),
      ("[General]\nChannels = 1\n", .warn), ("[GATT]\nChannels = 3\n", .warn), ("[GATT]\nChannelsMax = 1\n", .warn),
      ("", .warn),
    ])
  func theNumberOfChannels(text: String, level: Finding.Level) throws {
    #expect(try findings(["etc/bluetooth/main.conf": text])[2].level == level)
  }

  @Test(
    "Without a setting the release decides how many ATT channels there are; a setting counts on each release",
    arguments: [
      ("", 66, Finding.Level.warn), ("", 67, .ok), ("", 82, .ok), ("[GATT]\n#Channels = 3\n", 67, .ok),
      ("[GATT]\nChannels = 1\n", 66, .ok), ("[GATT]\nChannels = 1\n", 82, .ok),
      ("[GATT]\nChannels = 3\n", 66, .warn), ("[GATT]\nChannels = 2\n", 67, .warn),
      ("[GATT]\nChannels = 3\n", 87, .warn), ("[General]\nChannels = 3\n", 82, .ok),
    ])
  func theDefaultNumberOfChannels(text: String, minor: Int, level: Finding.Level) throws {
    let found = try findings(["etc/bluetooth/main.conf": text], of: BlueZRelease(5, minor))[2]
    #expect(found.check == "EATT")
    #expect(found.level == level, "\(found.message)")
    #expect((found.fix == nil) == (level == .ok))
  }

  @Test("Without a settings file and with an unknown release the warning names the releases it concerns")
  func channelsOfAnUnknownRelease() throws {
    let found = try findings([:])[2]
    #expect(found.message.contains("before 5.67"))
    #expect(try findings([:], of: BlueZRelease(5, 82))[2].level == .ok)
  }

  @Test(
    "The settings file is taken from bluetoothd's command line",
    arguments: ["-f\0/x/my.conf", "--configfile\0/x/my.conf", "-n\0--configfile=/x/my.conf"])
  func bluetoothdWithASettingsFileOfItsOwn(options: String) throws {
    let found = try findings([
      "proc/7/comm": "bash\n", "proc/42/comm": "bluetoothd\n",
      "proc/42/cmdline": "/usr/libexec/bluetoothd\0\(options)\0",
      "x/my.conf": "[GATT]\nChannels = 1\n", "etc/bluetooth/main.conf": "[GATT]\nChannels = 3\n",
    ])
    #expect(found[2].level == .ok)
  }

  @Test(
    "A warning is given if unknown devices can replace bonded ones",
    arguments: [("JustWorksRepairing = always", 1), ("JustWorksRepairing = never", 0), ("", 0)])
  func strangersInThePlaceOfPairedDevices(line: String, findings count: Int) throws {
    let found = try findings(["etc/bluetooth/main.conf": "[General]\n\(line)\n[GATT]\nChannels = 1\n"]).dropFirst(5)
    #expect(found.map(\.level) == Array(repeating: .warn, count: count))
  }

  @Test(
    "A warning is given if bluetoothd has no LE Secure Connections",
    arguments: [
      ("SecureConnections = off", Finding.Level.warn, "LE Secure Connections are off"),
      ("SecureConnections = only", .ok, "only over"), ("#SecureConnections = off", .ok, "where the peer has them"),
    ])
  func secureConnections(line: String, level: Finding.Level, words: String) throws {
    let found = try findings(["etc/bluetooth/main.conf": "[General]\n\(line)\n"])[4]
    #expect(found.level == level)
    #expect(found.message.contains(words))
  }

  /// The numbers are the kernel's: legacy without and with authentication, P-256 without and with, and the debug key.
  @Test(
    "The keys of a bond are those that bluetoothd has stored",
    arguments: [
      (["[LongTermKey]\nAuthenticated=0"], "legacy"), (["[LongTermKey]\nAuthenticated=1"], "legacy-authenticated"),
      (["[LongTermKey]\nAuthenticated=2"], "secure"), (["[LongTermKey]\nAuthenticated=3"], "secure-authenticated"),
      (["[LongTermKey]\nAuthenticated=4"], "legacy"),
      (["[LongTermKey]\nAuthenticated=3", "[SlaveLongTermKey]\nAuthenticated=1"], "legacy-authenticated"),
      (["[PeripheralLongTermKey]\nAuthenticated=2", "[SlaveLongTermKey]\nAuthenticated=2"], "secure"),
      (["[LinkKey]\nType=4"], nil), (["[LongTermKey]\nAuthenticated=x"], nil),
    ] as [([String], String?)])
  func keys(groups: [String], name: String?) {
    let key = BondKey(info: (["[General]\nName=x"] + groups).joined(separator: "\n"))
    #expect(key?.name == name)
    #expect((key?.warning != nil) == (name?.hasPrefix("legacy") == true))
  }

  @Test(
    "Discovery of the services of centrals causes a warning",
    arguments: [
      ("[General]\nReverseServiceDiscovery = false\n", Finding.Level.ok),
      ("[General]\nReverseServiceDiscovery = true\n", .warn), ("[General]\n#ReverseServiceDiscovery = false\n", .warn),
      ("[GATT]\nReverseServiceDiscovery = false\n", .warn), ("", .warn),
    ])
  func centralsThatAreSearchedForServices(text: String, level: Finding.Level) throws {
    let found = try findings(["etc/bluetooth/main.conf": text])[3]
    #expect(found.level == level)
    #expect(found.fix?.contains("/etc/bluetooth/main.conf") == (level == .warn ? true : nil))
  }
}

@Suite("The checks of doctor for capabilities of BlueZ") struct CapabilityChecksTests {
  @Test("The features and gaps of a BlueZ release are listed") func whatAReleaseHasAndLacks() {
    let found = BlueZChecks.capabilities(of: BlueZRelease(5, 79)).map(\.message)
    #expect(found.first?.contains("a socket for each central") == true)
    #expect(found.contains { $0.hasPrefix("lacks confirmations of indications (missing in 5.74–5.79): ") })
    #expect(found.contains { $0.hasPrefix("lacks the reason why a connection ended (since 5.83): ") })
    #expect(found.contains { $0.contains("(in no release yet)") })
    #expect(
      found.contains {
        $0.hasPrefix("lacks advertisement monitors for services, service data and names (missing in 5.69 and later): ")
      })
  }

  @Test("Only the release that a scan by service crashes gets a warning, with what to do", arguments: [66, 86, 87, 88])
  func aCrash(minor: Int) {
    let warnings = BlueZChecks.capabilities(of: BlueZRelease(5, minor)).filter { $0.level != .ok }
    let levels: [Finding.Level] = minor == 87 ? [.warn] : []
    #expect(warnings.map(\.level) == levels)
    #expect(warnings.allSatisfy { $0.message.contains("(missing in 5.87)") })
    #expect(warnings.allSatisfy { $0.fix?.contains("another release") == true })
  }
}

@Suite("The checks of doctor for the settings of an adapter") struct AdapterSettingsChecksTests {
  private func findings(_ current: AdapterSettings.Options, required: Bool? = nil) -> [Finding] {
    let settings = AdapterSettings(
      supported: [.secureConnections, .privacy], current: current, requiresSecureConnections: required)
    return BlueZChecks.trust(settings, "hci0")
  }

  @Test("Privacy and the use of Secure Connections are named", arguments: [nil, true, false])
  func theUsualSettings(required: Bool?) {
    let words = required.map { $0 ? "are required" : "legacy pairing with peers that lack them" } ?? "only root can see"
    let found = findings([.secureConnections, .powered], required: required)
    #expect(found.map(\.level) == [.ok, .ok])
    #expect(found[0].message.contains(words))
    #expect(found[1].message.hasPrefix("privacy is off"))
    #expect(findings([.secureConnections, .privacy])[1].message.hasPrefix("privacy is on"))
  }

  @Test("Legacy pairing alone and debug keys cause a warning, with what to do") func settingsThatProtectNothing() {
    let found = findings([.debugKeys])
    #expect(found.map(\.level) == [.warn, .ok, .warn])
    #expect(found[0].fix?.contains("SecureConnections = off") == true)
    #expect(found[2].message.contains("debug keys"))
    let old = BlueZChecks.trust(AdapterSettings(supported: [], current: []), "hci0")
    #expect(old[0].fix?.contains("another adapter") == true)
  }
}

@Suite("The checks of doctor that read the upload queue") struct UploadsChecksTests {
  @Test("A server that does not keep conditions causes a warning") func serversWithoutConditions() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UUID().uuidString)")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let store = try QueueStore(path: folder.path + "/uploads.sqlite")
    #expect(UploadsChecks.findings(store).isEmpty)
    for (host, condition, completion) in [
      ("a", .kept, .kept), ("b", .ignored, .kept), ("c", .refused, .refused), ("d", .unknown, .unknown),
      ("e", .kept, .ignored), ("f", .kept, .unknown),
    ] as [(String, UploadServer.Condition, UploadServer.Condition)] {
      var server = UploadServer(try S3Endpoint("http://\(host)"))
      server.condition = condition
      server.completion = completion
      try store.remember(server)
    }
    let found = UploadsChecks.findings(store)
    #expect(found.map(\.level) == [.ok, .warn, .warn, .ok, .warn, .ok])
    let starts = [
      "http://a replaces no object", "http://b does not keep the condition If-None-Match for objects in one request:",
      "http://c does not keep the condition If-None-Match:", "http://d has not shown yet whether",
      "http://e does not keep the condition If-None-Match for objects in parts:",
      "http://f has not shown yet whether it keeps If-None-Match for objects in parts",
    ]
    for (finding, start) in zip(found, starts) { #expect(finding.message.hasPrefix(start), "\(finding.message)") }
    #expect(found[1].fix?.contains("prefix of its own") == true)
  }
}

@Suite(
  "The checks of doctor that read bluetoothd's keys",
  .enabled(if: MountedCommand.isPermitted, "needs root"),
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct BondKeyChecksTests {
  /// The numbers are the kernel's: legacy pairing without and with authentication, and LE Secure Connections.
  @Test(
    "The command warns of a bond from legacy pairing, and of no other", arguments: [(0, true), (1, true), (2, false)])
  func legacyBonds(kind: Int, isWarned: Bool) async throws {
    let air = try await FakeTrust.start()
    guard case .address(let bus) = air.lab.bus else { throw MissingProgram("a bus of its own") }
    try await air.lab.adapter(0).withAdvertisement(.init(name: "Old")) { _ in try await air.pair(1, with: 0) }
    let (own, peer) = (air.lab.adapters[1].address.description, air.lab.adapters[0].address.description)
    let keys = "\(air.folder)/bluetooth/\(own)/\(peer)"
    try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
    try "[LongTermKey]\nAuthenticated=\(kind)\n".write(toFile: keys + "/info", atomically: true, encoding: .utf8)
    let doctor = MountedCommand(
      program, ["doctor", "--state", "/nonexistent", "--adapter", air.lab.adapters[1].name],
      seeing: air.folder, at: "/var/lib")
    let output = await
      (try ChildProcess(
        doctor.program, doctor.arguments, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "PATH": "/usr/bin:/bin"]))
      .outcome().output
    #expect(output.contains("paired by legacy pairing") == isWarned, "\(output)")
    #expect(output.contains("edgeblue pair remove \(peer)`, and pair again with a device that has") == isWarned)
    #expect(output.contains("1 bonded device"), "\(output)")
    try await air.stop()
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
