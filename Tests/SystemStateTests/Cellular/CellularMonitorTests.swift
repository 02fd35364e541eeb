import DBus
import DBusTesting
import SystemTesting
import Testing
import Timing

@testable import SystemState

@Suite(
  "The modems of a host", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .timeLimit(.minutes(5)))
struct CellularMonitorTests {
  private let bus: PrivateBus

  init() throws { bus = try PrivateBus() }

  private func monitor(signalSeconds: Int? = nil) -> CellularMonitor {
    var options = CellularMonitor.Options()
    options.bus = .address(bus.address)
    options.signalSeconds = signalSeconds
    options.backoff = Backoff(base: .milliseconds(5), limit: .milliseconds(20))
    return CellularMonitor(options)
  }

  private func first(_ update: CellularUpdate) -> CellularModem? {
    if case .modems(let modems) = update { modems.first } else { nil }
  }

  @Test("Without ModemManager the reason is told, and one that comes and goes is followed") func comesBack()
    async throws
  {
    let monitor = monitor()
    let seen = Watcher(monitor.updates(limit: 1000))
    try await seen.until("none yet") { $0 == .unavailable("ModemManager: it does not run") }
    for _ in 1...2 {
      let fake = try await FakeModemManager(bus)
      try await seen.until("no modem") { $0 == .modems([]) }
      try fake.add(0, FakeModemManager.lte())
      try await seen.until("a modem") { first($0)?.technology == .lte }
      fake.remove(0)
      try await seen.until("no modem again") { $0 == .modems([]) }
      fake.end()
      try await seen.until("gone") { $0 == .unavailable("ModemManager: it does not run") }
    }
    monitor.close()
  }

  @Test("A modem is read with its network, its signal and its interfaces") func contents() async throws {
    let fake = try await FakeModemManager(bus)
    try fake.add(3, FakeModemManager.lte())
    let monitor = monitor()
    let seen = Watcher(monitor.updates(limit: 1000))
    var modem = CellularModem()
    modem.interfaces = ["wwan0"]
    modem.model = "Fake"
    modem.service = .home
    modem.technology = .lte
    modem.operatorName = "A1"
    modem.operatorCode = "23201"
    modem.quality = 70
    modem.signal = CellularSignal(power: -95, quality: -11, ratio: 14)
    let wanted = CellularUpdate.modems([modem])
    try await seen.until("the modem") { $0 == wanted }
    monitor.close()
  }

  @Test("Changes of the technology, the registration and the state are followed") func changes() async throws {
    let fake = try await FakeModemManager(bus)
    try fake.add(0, FakeModemManager.lte())
    let monitor = monitor()
    let seen = Watcher(monitor.updates(limit: 1000))
    try await seen.until("LTE") { first($0)?.technology == .lte }
    try fake.change(0, ["Nr5g": FakeModemManager.figures(["rsrp": -101.5, "rsrq": -32768])])
    try fake.change(0, ["AccessTechnologies": .uint32(1 << 14 | 1 << 15)])
    let both = try await seen.until("5G beside it") { first($0)?.technology == .nrNonStandalone }
    #expect(first(both)?.signal == CellularSignal(power: -101.5, quality: nil, ratio: nil))
    try fake.change(0, ["RegistrationState": .uint32(2)])
    let lost = try await seen.until("no network") { first($0)?.service == CellularModem.Service.none }
    #expect(first(lost)?.technology == nil)
    #expect(first(lost)?.operatorName == nil)
    try fake.change(0, ["State": .int32(3)])
    try await seen.until("off") { first($0)?.service == .off }
    monitor.close()
  }

  @Test("Modems are asked to measure their signal where that is wanted, each once") func signals() async throws {
    let fake = try await FakeModemManager(bus)
    try fake.add(0, FakeModemManager.lte())
    let quiet = monitor()
    try await Watcher(quiet.updates(limit: 1000)).until("LTE") { first($0)?.technology == .lte }
    let monitor = monitor(signalSeconds: 5)
    let seen = Watcher(monitor.updates(limit: 1000))
    try await eventually("it was asked") { fake.asked == [5] }
    try fake.change(0, ["AccessTechnologies": .uint32(1 << 5)])
    try await seen.until("UMTS") { first($0)?.technology == .umts }
    try fake.add(1, FakeModemManager.lte("wwan1"))
    try await eventually("the second one was asked") { fake.asked == [5, 5] }
    quiet.close()
    monitor.close()
  }

  @Test("The modem of an interface is the one that has it, or the only one") func ofInterface() {
    var one = CellularModem()
    one.interfaces = ["wwan0"]
    var other = CellularModem()
    other.interfaces = ["wwan1"]
    let both = CellularUpdate.modems([one, other])
    #expect(both.modem(of: "wwan1", isCellular: true) == other)
    #expect(both.modem(of: "wwan2", isCellular: true) == nil)
    #expect(both.modem(of: "eth0", isCellular: false) == nil)
    // With PPP the interface is not that of the modem.
    #expect(CellularUpdate.modems([one]).modem(of: "ppp0", isCellular: true) == one)
    #expect(CellularUpdate.modems([one]).modem(of: "eth0", isCellular: false) == nil)
    #expect(CellularUpdate.unavailable("no").modem(of: "wwan0", isCellular: true) == nil)
  }

  @Test(
    "The bits of ModemManager name one technology",
    arguments: [
      (0, nil), (1 << 0, nil), (.max, nil), (1 << 1, .gsm), (1 << 3, .gsm), (1 << 4 | 1 << 3, .edge), (1 << 5, .umts),
      (1 << 6, .hsdpa), (1 << 6 | 1 << 7, .hsupa), (1 << 9, .hsupa), (1 << 12, .other), (1 << 14, .lte),
      (1 << 16, .lte), (1 << 17, .lte), (1 << 15, .nr), (1 << 14 | 1 << 15, .nrNonStandalone),
    ] as [(UInt32, CellularTechnology?)]) func bits(_ bits: UInt32, _ technology: CellularTechnology?)
  {
    #expect(CellularTechnology(modemManager: bits) == technology)
  }

  @Test("Whatever properties a modem has, reading them ends") func nonsense() {
    let values: [Value] = [
      .string(""), .int32(-7), .uint32(.max), true, .structure([]), .structure([.uint32(900), true]),
      .array(of: "(su)", []), .array(of: "s", ["x"]), .properties(["rsrp": .double(.nan), "rsrq": "x"]),
    ]
    for value in values {
      for name in ["Ports", "AccessTechnologies", "SignalQuality", "Model"] {
        let modem = CellularModem([CellularModem.interface: [name: value, "State": .int32(8)]])
        #expect(modem?.quality == nil)
      }
      let modem = CellularModem([
        CellularModem.interface: ["AccessTechnologies": .uint32(1 << 14), "State": value],
        CellularModem.networkInterface: ["RegistrationState": value, "OperatorName": value],
        CellularModem.signalInterface: ["Lte": value],
      ])
      #expect(modem?.signal == nil)
    }
    #expect(CellularModem(["org.freedesktop.ModemManager1.Sim": [:]]) == nil)
  }
}
