import BlueZ
import JSONValues

/// The table of devices in range, which scan results update.
struct ScanTable: Sendable {
  struct Row: Sendable {
    let address: String
    var name: String?
    var rssi: Int?
    var services: Set<BluetoothUUID> = []
    /// A Boolean value that indicates whether the services were read over a connection, rather than advertised now.
    var servicesWereRead = false
    /// The company identifiers of the manufacturer data.
    var companies: Set<UInt16> = []
    /// The instant of the last advertisement.
    var receivedAt: ContinuousClock.Instant
  }

  private var rows: [String: Row] = [:]

  /// Updates a row with a scan result; fields that the result omits stay unchanged.
  mutating func see(_ sighted: Row) {
    var row = sighted
    if let before = rows[sighted.address] {
      row.name = sighted.name ?? before.name
      row.rssi = sighted.rssi ?? before.rssi
      // A list that was read is complete; services that were advertised before may be gone.
      if !row.servicesWereRead { row.services.formUnion(before.services) }
      row.companies.formUnion(before.companies)
    }
    rows[sighted.address] = row
  }

  /// Removes a device that is no longer in range.
  mutating func lose(_ address: String) { rows[address] = nil }

  /// The rows by falling RSSI; rows without RSSI come last.
  var sorted: [Row] {
    rows.values.sorted { ($0.rssi ?? -128, $1.address) > ($1.rssi ?? -128, $0.address) }
  }

  static let heading =
    "NAME".padded(to: nameWidth) + "ADDRESS".padded(to: 19) + "RSSI".padded(to: 9) + "AGE".padded(to: 8)
    + "MANUFACTURER".padded(to: companyWidth) + "SERVICES"

  private static let nameWidth = 22
  private static let companyWidth = 22

  /// Returns one line for each row; if there are more than `limit` rows, the last line counts the rest.
  func lines(now: ContinuousClock.Instant, limit: Int = .max) -> [String] {
    let shown = sorted.prefix(limit < rows.count ? max(limit - 1, 0) : limit).map { row in
      (row.name?.printable ?? "(no name)").cut(to: Self.nameWidth - 1).padded(to: Self.nameWidth)
        + row.address.padded(to: 19) + (row.rssi.map { "\($0) dBm" } ?? "unknown").padded(to: 9)
        + Self.age(row.receivedAt.duration(to: now)).padded(to: 8)
        + row.companies.sorted().map(Self.company).joined(separator: ", ").cut(to: Self.companyWidth - 1)
        .padded(to: Self.companyWidth) + Self.services(row.services)
        + (row.servicesWereRead ? " (read earlier)" : "")
    }
    return shown + (shown.count < rows.count ? ["… and \(rows.count - shown.count) more"] : [])
  }

  private static func age(_ age: Duration) -> String {
    let seconds = Int(age / .seconds(1))
    return seconds < 100 ? "\(seconds) s" : "\(seconds / 60) min"
  }

  private static func company(_ identifier: UInt16) -> String {
    AssignedNumbers.company(identifier) ?? "company \(identifier)"
  }

  /// Returns services with names first, because long UUIDs of private services may be cut off.
  private static func services(_ services: Set<BluetoothUUID>) -> String {
    let named = services.compactMap(AttributeNames.service).sorted()
    let others = services.filter { AttributeNames.service($0) == nil }.map(AttributeNames.short).sorted()
    return (named + others).joined(separator: ", ")
  }
}

extension ScanTable.Row {
  /// Returns the row as JSON.
  func json(isPhone: Bool, now: ContinuousClock.Instant) -> JSONValue {
    .object([
      "address": .string(address), "name": JSONValue(name), "rssi": JSONValue(rssi), "edgecoder": .bool(isPhone),
      "ageSeconds": .number(Int(receivedAt.duration(to: now) / .seconds(1))),
      "servicesWereRead": .bool(servicesWereRead),
      "services": .array(
        services.sorted { $0.description < $1.description }.map {
          .object(["uuid": .string($0.description), "name": JSONValue(AttributeNames.service($0))])
        }),
      "manufacturers": .array(
        companies.sorted().map { .object(["id": .number(Int($0)), "name": JSONValue(AssignedNumbers.company($0))]) }),
    ])
  }
}
