import Btsnoop

/// Several events of the same kind about the same attribute, as one line.
struct TrafficRun: Sendable {
  /// What the events of a run have in common.
  struct Key: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case notification, indication
      case operation(AttributeOperation.Kind, AttributeOperation.Outcome)
      case message(psm: UInt16, isFromHost: Bool)
      case discovery
    }

    var link: Int
    var kind: Kind
    var server: AttributeServer
    var handle: UInt16
    /// The value of a configuration: to subscribe is another event than to unsubscribe.
    var configuration: [UInt8] = []
  }

  var adapter: UInt16
  var link: Link?
  var start: Int64
  var last: Int64
  var count = 0
  var bytes = 0
  var sizes = Int.max...Int.max
  var value: [UInt8] = []
  /// What a discovery found.
  var services: [AttributeUUID] = []
  var characteristics = 0
  var descriptors = 0

  init(_ event: TrafficEvent) {
    adapter = event.adapter
    link = event.link
    start = event.time
    last = event.time
  }

  mutating func add(_ content: [UInt8], at time: Int64) {
    last = time
    bytes += content.count
    sizes =
      count == 0
      ? content.count...content.count
      : min(sizes.lowerBound, content.count)...max(sizes.upperBound, content.count)
    count += 1
    value = content
  }

  /// The duration in seconds from the first to the last one.
  var seconds: Double { max(Double(last &- start) / 1e6, 0) }

  /// The number of events in a second; `nil` for too few of them.
  var rate: Double? { count > 2 && seconds > 0 ? Double(count - 1) / seconds : nil }

  /// The amount in words: `33 in 0.41 s (78/s), 20–182 bytes`.
  func amount(_ noun: String) -> String {
    let length =
      sizes.lowerBound == sizes.upperBound ? "\(sizes.lowerBound)" : "\(sizes.lowerBound)–\(sizes.upperBound)"
    let pace = rate.map { " (\(Self.pace($0)))" } ?? ""
    let unit = length == "1" ? "byte" : "bytes"
    return "\(count) \(noun) in \(Amounts.fixed(seconds, seconds < 10 ? 2 : 0)) s\(pace), \(length) \(unit)"
  }

  static func pace(_ rate: Double) -> String { Amounts.fixed(rate, rate < 10 ? 1 : 0) + "/s" }
}
