import DBusTesting
import Testing

@testable import SystemState

@Suite(
  "The ModemManager of this machine",
  .enabled(if: RealModemManager.isInstalled, "needs ModemManager, and scripts/python-peers"), .timeLimit(.minutes(5)))
struct RealModemManagerTests {
  private let bus: PrivateBus
  private let monitor: CellularMonitor

  init() throws {
    bus = try PrivateBus()
    var options = CellularMonitor.Options()
    options.bus = .address(bus.address)
    monitor = CellularMonitor(options)
  }

  private func modem(_ update: CellularUpdate) -> CellularModem? {
    if case .modems(let modems) = update { modems.first } else { nil }
  }

  @Test("Without a modem it says that there is none, and its end is told") func none() async throws {
    let seen = Watcher(monitor.updates(limit: 1000))
    let real = try await RealModemManager(bus, hasModem: false)
    try await seen.until("no modem") { $0 == .modems([]) }
    await real.end()
    try await seen.until("gone") { $0 == .unavailable("ModemManager: it does not run") }
    monitor.close()
  }

  @Test("A modem that answers AT commands is followed from network to network") func networks() async throws {
    let seen = Watcher(monitor.updates(limit: 1000))
    let real = try await RealModemManager(bus)
    let home = try await seen.until("LTE at home") { modem($0)?.technology == .lte && modem($0)?.operatorName == "A1" }
    #expect(modem(home)?.service == .home)
    #expect(modem(home)?.operatorCode == "23201")
    #expect(modem(home)?.model == "Socket modem")
    // The numbers of 3GPP TS 27.007: UMTS, and GSM with EDGE. ModemManager tells what has changed one by one.
    real.register(5, 2, "26201")
    try await seen.until("UMTS abroad") { update in
      let modem = modem(update)
      return modem?.technology == .umts && modem?.service == .roaming && modem?.operatorCode == "26201"
    }
    real.register(1, 3, "23201")
    try await seen.until("EDGE at home") { modem($0)?.technology == .edge && modem($0)?.service == .home }
    real.register(2, 0, "23201")
    try await seen.until("no network") { modem($0)?.service == CellularModem.Service.none }
    await real.end()
    monitor.close()
  }
}
