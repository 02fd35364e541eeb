import BlueZ
import Testing

@testable import edgeblue

@Suite("The command scan") struct ScanTests {
  private let start = ContinuousClock.now

  private func row(
    _ address: String, _ name: String? = nil, _ rssi: Int? = nil, _ services: Set<BluetoothUUID> = [],
    _ companies: Set<UInt16> = [], at seconds: Int = 0
  ) -> ScanTable.Row {
    .init(
      address: address, name: name, rssi: rssi, services: services, companies: companies,
      receivedAt: start + .seconds(seconds))
  }

  @Test("Devices are sorted by RSSI, and keep what earlier results contained") func strongestFirstAndNothingForgotten()
  {
    var table = ScanTable()
    table.see(row("00:AA:01:00:00:01", "far", -90, [], [0x4c]))
    table.see(row("00:AA:01:00:00:02"))
    table.see(row("00:AA:01:00:00:03", "near", -40, ["180d"]))
    // A sighting that says less than the one before.
    table.see(row("00:AA:01:00:00:03", nil, nil, ["180f"], at: 5))
    table.see(row("00:AA:01:00:00:04", "gone", -10))
    table.lose("00:AA:01:00:00:04")
    #expect(
      table.lines(now: start + .seconds(9)) == [
        "near                  00:AA:01:00:00:03  -40 dBm  4 s                           Battery, Heart Rate",
        "far                   00:AA:01:00:00:01  -90 dBm  9 s     Apple                 ",
        "(no name)             00:AA:01:00:00:02  unknown  9 s                           ",
      ])
  }

  @Test("Services that were read over a connection are marked") func servicesThatWereReadAreNoNews() {
    var table = ScanTable()
    table.see(row("00:AA:01:00:00:01", "lamp", -50, ["1816"]))
    var read = row("00:AA:01:00:00:01", "lamp", -50, ["1801", "180f"])
    read.servicesWereRead = true
    table.see(read)
    let lines = table.lines(now: start)
    #expect(lines.count == 1)
    #expect(lines[0].hasSuffix("Battery, Generic Attribute (read earlier)"))
  }

  @Test("Long names and unknown companies do not break the columns") func theColumnsHold() {
    var table = ScanTable()
    table.see(row("00:AA:01:00:00:01", "a name\u{1b}[2J that has no end", -1, ["ec0d"], [0x59, 0xfffe]))
    #expect(
      table.lines(now: start + .seconds(600)) == [
        "a name\u{fffd}[2J that has … 00:AA:01:00:00:01  -1 dBm   10 min  Nordic Semiconductor… ec0d"
      ])
  }

  @Test("The table has no more lines than the limit") func noMoreLinesThanFit() {
    var table = ScanTable()
    for number in 1...5 { table.see(row("00:AA:01:00:00:0\(number)", nil, -number)) }
    #expect(table.lines(now: start, limit: 5).count == 5)
    #expect(table.lines(now: start, limit: 3).count == 3)
    #expect(table.lines(now: start, limit: 3).last == "… and 3 more")
  }

  @Test("A frame replaces the frame before it") func aFrameReplacesTheOneBefore() {
    var screen = LiveScreen()
    #expect(screen.frame(["a", "b"]) == "\u{1b}[?7l\ra\u{1b}[K\n\rb\u{1b}[K\n\u{1b}[J\u{1b}[?7h")
    #expect(screen.frame(["c"]).hasPrefix("\u{1b}[?7l\u{1b}[2A\rc"))
    #expect(screen.frame([]).hasPrefix("\u{1b}[?7l\u{1b}[1A\u{1b}[J"))
    // Of what is too long the last cell says so; what just fits keeps its last letter.
    #expect(screen.frame(["\u{1b}[1mab\u{1b}[0mcd"], width: 3).contains("cd\u{1b}[3G…\n"))
    #expect(screen.frame(["\u{1b}[1mab\u{1b}[0mc"], width: 3).contains("\u{1b}[0mc\n"))
  }

  @Test("A device is printed as JSON") func forPrograms() {
    let json = row("00:AA:01:00:00:01", nil, -1, ["180d"], [0x4c]).json(isPhone: false, now: start + .seconds(3))
    #expect(json.line.contains(#""ageSeconds":3,"edgecoder":false,"manufacturers":[{"id":76,"name":"Apple"}]"#))
    #expect(json.line.contains(#""name":"Heart Rate","uuid":"0000180d-0000-1000-8000-00805f9b34fb""#))
  }
}
