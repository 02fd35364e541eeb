import Btsnoop

/// The amounts of a recording: for each characteristic, and for each device that advertised.
struct TrafficStatistics: Sendable {
  struct Key: Hashable, Sendable {
    var server: AttributeServer
    var handle: UInt16
  }

  /// The amounts of a characteristic or descriptor.
  struct Attribute: Sendable {
    var reads = 0
    var writes = 0
    var notifications = 0
    var indications = 0
    var errors: [String: Int] = [:]
    /// The bytes of all values.
    var bytes = 0
    var sizes: ClosedRange<Int>?
    /// The microseconds of all answered requests.
    var waited: Int64 = 0
    var answered = 0
    var slowest: Int64 = 0
    /// The first and the last notification or indication.
    var first: Int64?
    var last: Int64 = 0
    /// The longest time between two of them, in microseconds.
    var longestGap: Int64 = 0
  }

  /// The amounts of a device that advertised.
  struct Advertiser: Sendable {
    var count = 0
    var name: String?
    var services: [AttributeUUID] = []
    /// The newest element of each type, also of the scan response, until the device is shown.
    var data = AdvertisingData([])
    var isShown = false
    var rssi: ClosedRange<Int>?
    var isConnectable = false
  }

  private(set) var attributes: [Key: Attribute] = [:]
  private(set) var advertisers: [DeviceAddress: Advertiser] = [:]
  /// The attributes and advertisers beyond the limits, which are not counted.
  private(set) var uncounted = 0
  private(set) var packets = 0
  private(set) var bytes = 0
  private(set) var connections = 0
  private(set) var malformed = 0
  private(set) var lost = 0
  private(set) var first: Int64?
  private(set) var last: Int64 = 0

  private static let attributeLimit = 4096
  private static let advertiserLimit = 10_000

  mutating func count(_ record: CaptureRecord) {
    packets += 1
    bytes += record.bytes.count
    if first == nil { first = record.time }
    last = record.time
  }

  /// Returns the data of a device that was not shown yet, once its scan response is there or does not come.
  mutating func introduction(_ report: AdvertisingReport) -> AdvertisingData? {
    guard let device = advertisers[report.address], !device.isShown,
      report.isScanResponse || !report.isScannable || device.count > 2
    else { return nil }
    advertisers[report.address]?.isShown = true
    return device.data
  }

  mutating func note(_ event: TrafficEvent) {
    switch event.kind {
    case .advertisement(let report): note(report)
    case .connected: connections += 1
    case .malformed: malformed += 1
    case .lost(let count): lost += count
    case .value(let handle, let value, let isIndication, let server):
      change(server, handle) { attribute in
        if isIndication { attribute.indications += 1 } else { attribute.notifications += 1 }
        if attribute.first == nil {
          attribute.first = event.time
        } else {
          attribute.longestGap = max(attribute.longestGap, event.time &- attribute.last)
        }
        attribute.last = event.time
        attribute.add(value)
      }
    case .operation(let operation) where operation.kind != .executeWrite: note(operation)
    default: break
    }
  }

  private mutating func note(_ operation: AttributeOperation) {
    change(operation.server, operation.handle) { attribute in
      switch operation.kind {
      case .read, .readBlob, .readByType: attribute.reads += 1
      default: attribute.writes += 1
      }
      switch operation.outcome {
      case .done: attribute.add(operation.value)
      case .refused(let reason): attribute.errors[reason.description, default: 0] += 1
      case .unanswered: attribute.errors["no response", default: 0] += 1
      }
      guard operation.outcome != .unanswered, ![.writeCommand, .signedWrite].contains(operation.kind) else { return }
      attribute.answered += 1
      attribute.waited &+= operation.duration
      attribute.slowest = max(attribute.slowest, operation.duration)
    }
  }

  private mutating func change(_ server: AttributeServer, _ handle: UInt16, _ body: (inout Attribute) -> Void) {
    let key = Key(server: server, handle: handle)
    guard attributes[key] != nil || attributes.count < Self.attributeLimit else { return uncounted += 1 }
    body(&attributes[key, default: Attribute()])
  }

  private mutating func note(_ report: AdvertisingReport) {
    guard advertisers[report.address] != nil || advertisers.count < Self.advertiserLimit else { return uncounted += 1 }
    advertisers[report.address, default: Advertiser()].add(report)
  }
}

extension TrafficStatistics.Attribute {
  fileprivate mutating func add(_ value: [UInt8]) {
    bytes += value.count
    sizes = sizes.map { min($0.lowerBound, value.count)...max($0.upperBound, value.count) } ?? value.count...value.count
  }

  /// The values that a server sent in a second; `nil` for too few of them.
  var rate: Double? {
    guard let first, notifications + indications > 2, last > first else { return nil }
    return Double(notifications + indications - 1) / (Double(last &- first) / 1e6)
  }

  /// The mean milliseconds from a request to its response.
  var meanWait: Double? { answered > 0 ? Double(waited) / Double(answered) / 1000 : nil }
}

extension TrafficStatistics.Advertiser {
  fileprivate mutating func add(_ report: AdvertisingReport) {
    count += 1
    isConnectable = isConnectable || report.isConnectable
    if let rssi = report.rssi {
      self.rssi = self.rssi.map { min($0.lowerBound, rssi)...max($0.upperBound, rssi) } ?? rssi...rssi
    }
    guard !isShown || name == nil || services.isEmpty else { return }
    if !isShown {
      let types = Set(report.data.elements.map(\.type))
      data.elements = data.elements.filter { !types.contains($0.type) } + report.data.elements
    }
    name = name ?? report.data.name
    if services.isEmpty { services = report.data.services }
  }
}
