import AudioWearables
import BlueZ
import Timing

/// Lists the wearables among which a user chooses; none of them is connected.
struct WearableFinder {
  private static let seconds = 5

  private let kind: any Wearable

  init(_ kind: any Wearable) { self.kind = kind }

  /// Returns the failure that names the wearables in range.
  func choice(on options: AdapterOptions, _ terminal: Terminal) async throws -> Failure {
    let radio = try await Radio.open(options, terminal)
    terminal.whisper("No wearable is chosen for this folder. Scanning on \(radio.title) for \(Self.seconds) s …")
    let found = try await untilInterrupted { try await look(with: radio.adapter) }
    guard let first = found.first else {
      return Failure(
        "no wearable is chosen, and none is in range",
        hint: "--wearable names one; `edgeblue scan --all` lists all devices in range", status: .unavailable)
    }
    let names = found.map { row in
      "\(row.name?.printable ?? "(no name)") (\(row.address)\(row.rssi.map { ", \($0) dBm" } ?? ""))"
    }
    return Failure(
      "no wearable is chosen; in range: \(names.joined(separator: "; "))",
      hint: "record yours with `edgeblue record --wearable \(first.address)`, once: the folder remembers it",
      status: .badInput)
  }

  /// Returns the wearables in range, the strongest first.
  private func look(with adapter: Adapter) async throws -> [ScanTable.Row] {
    let sightings = try await adapter.discover(.init(services: kind.advertisedServices))
    let scanner = Scanner()
    let collector = Task { await scanner.collect(sightings) }
    defer { collector.cancel() }
    try await Task.sleep(for: .seconds(Self.seconds), clock: .steady)
    return await scanner.table.sorted
  }
}
