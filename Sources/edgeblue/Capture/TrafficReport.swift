import Btsnoop
import JSONValues

/// The statistics of a recording, for display.
struct TrafficReport {
  private let statistics: TrafficStatistics
  private let rows: [Row]

  private struct Row {
    var key: TrafficStatistics.Key
    var attribute: TrafficNames.Attribute
    var amounts: TrafficStatistics.Attribute
  }

  init(_ timeline: Timeline) {
    statistics = timeline.statistics
    rows = timeline.statistics.attributes.map { key, amounts in
      Row(
        key: key, attribute: TrafficNames.attribute(key.handle, timeline.decoder.table(of: key.server)),
        amounts: amounts)
    }.sorted { ($0.key.server.words, $0.key.handle) < ($1.key.server.words, $1.key.handle) }
  }

  /// The number of lines of a table that are shown to a user.
  private static let shown = 40

  func lines(_ paint: (String, Terminal.Paint) -> String) -> [String] {
    var lines = [summary]
    if !statistics.advertisers.isEmpty {
      lines += ["", paint(Self.columns(Self.advertiserHeads, Self.advertiserWidths), .bold)] + advertiserLines
    }
    if !rows.isEmpty {
      lines += ["", paint(Self.columns(Self.heads, Self.widths), .bold)] + rows.prefix(Self.shown).map(Self.line)
      if rows.count > Self.shown { lines.append("… and \(rows.count - Self.shown) more; --json has all") }
      for row in rows {
        for (reason, count) in row.amounts.errors.sorted(by: { $0.key < $1.key }) {
          lines.append(paint("\(row.attribute.name): \(reason)\(count == 1 ? "" : ", \(count) times")", .yellow))
        }
      }
    }
    return lines
  }

  private var summary: String {
    var parts = [
      Self.count(statistics.packets, "packet"), Amounts.bytes(statistics.bytes),
      Amounts.clock(seconds, digits: seconds < 60 ? 1 : 0) + (seconds < 60 ? " s" : ""),
      Self.count(statistics.connections, "connection"), Self.count(statistics.advertisers.count, "advertising device"),
    ]
    if statistics.malformed > 0 { parts.append(Self.count(statistics.malformed, "malformed packet")) }
    if statistics.lost > 0 { parts.append("\(statistics.lost) not recorded") }
    if statistics.uncounted > 0 { parts.append("\(statistics.uncounted) events beyond the limits of the tables") }
    return parts.joined(separator: ", ")
  }

  private var seconds: Double { statistics.first.map { max(Double(statistics.last &- $0) / 1e6, 0) } ?? 0 }

  private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  // MARK: Tables

  private static let heads = ["CHARACTERISTIC", "SERVER", "READS", "WRITES", "SENT", "RATE", "BYTES", "MEAN", "ERRORS"]
  private static let widths = [30, 19, 7, 8, 7, 9, 10, 9, 0]
  private static let advertiserHeads = ["ADVERTISER", "NAME", "COUNT", "RSSI", "SERVICES"]
  private static let advertiserWidths = [19, 22, 7, 16, 0]

  private static func columns(_ texts: [String], _ widths: [Int]) -> String {
    zip(texts, widths).map { text, width in width == 0 ? text : text.cut(to: width - 1).padded(to: width) }.joined()
  }

  private static func line(_ row: Row) -> String {
    let amounts = row.amounts
    func shown(_ number: Int) -> String { number == 0 ? "–" : "\(number)" }
    return columns(
      [
        row.attribute.name, row.key.server.words, shown(amounts.reads), shown(amounts.writes),
        shown(amounts.notifications + amounts.indications), amounts.rate.map(TrafficRun.pace) ?? "–",
        Amounts.bytes(amounts.bytes), amounts.meanWait.map { "\(Amounts.fixed($0, $0 < 10 ? 1 : 0)) ms" } ?? "–",
        shown(amounts.errors.values.reduce(0, +)),
      ], widths)
  }

  private var advertiserLines: [String] {
    let sorted = statistics.advertisers.sorted {
      ($0.value.count, $1.key.description) > ($1.value.count, $0.key.description)
    }
    let lines = sorted.prefix(Self.shown).map { address, device in
      Self.columns(
        [
          address.description, device.name?.printable ?? "(no name)", "\(device.count)",
          device.rssi.map {
            $0.lowerBound == $0.upperBound ? "\($0.lowerBound) dBm" : "\($0.lowerBound)…\($0.upperBound) dBm"
          }
            ?? "unknown", device.services.map(TrafficNames.service).joined(separator: ", "),
        ], Self.advertiserWidths)
    }
    return lines + (sorted.count > Self.shown ? ["… and \(sorted.count - Self.shown) more; --json has all"] : [])
  }

  // MARK: JSON

  var json: JSONValue {
    .object([
      "event": "statistics", "packets": .number(statistics.packets), "bytes": .number(statistics.bytes),
      "seconds": .number(seconds), "connections": .number(statistics.connections),
      "malformed": .number(statistics.malformed), "lost": .number(statistics.lost),
      "attributes": .array(rows.map(Self.json)),
      "advertisers": .array(
        statistics.advertisers.sorted { $0.key.description < $1.key.description }.map { address, device in
          .object([
            "device": .string(address.description), "name": JSONValue(device.name), "count": .number(device.count),
            "rssiMin": JSONValue(device.rssi?.lowerBound), "rssiMax": JSONValue(device.rssi?.upperBound),
            "services": .array(device.services.map { .string($0.description) }),
            "isConnectable": .bool(device.isConnectable),
          ])
        }),
    ])
  }

  private static func json(_ row: Row) -> JSONValue {
    let amounts = row.amounts
    return .object([
      "server": .string(row.key.server.words), "handle": .number(Int(row.key.handle)),
      "attribute": .string(row.attribute.name),
      "characteristic": JSONValue(row.attribute.characteristic?.uuid.description),
      "service": JSONValue(row.attribute.service?.uuid.description), "reads": .number(amounts.reads),
      "writes": .number(amounts.writes), "notifications": .number(amounts.notifications),
      "indications": .number(amounts.indications), "bytes": .number(amounts.bytes),
      "smallest": JSONValue(amounts.sizes?.lowerBound), "largest": JSONValue(amounts.sizes?.upperBound),
      "rate": amounts.rate.map { .number($0) } ?? .null,
      "longestGapSeconds": amounts.first == nil ? .null : .number(Double(amounts.longestGap) / 1e6),
      "meanMs": amounts.meanWait.map { .number($0) } ?? .null,
      "slowestMs": amounts.answered == 0 ? .null : .number(Double(amounts.slowest) / 1000),
      "errors": .object(amounts.errors.mapValues { .number($0) }),
    ])
  }
}

extension AttributeServer {
  /// The server in words.
  var words: String {
    switch self {
    case .host(let adapter): "this host, hci\(adapter)"
    case .device(let address): address.description
    case .unknown(let link): "connection \(link)"
    }
  }
}
