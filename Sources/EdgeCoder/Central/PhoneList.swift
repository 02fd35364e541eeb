/// The phones known from scanning, and those of them with a connection.
struct PhoneList: Sendable {
  let phoneLimit: Int
  let capacity: Int
  private(set) var results: [PhoneID: PhoneScanResult] = [:]
  private(set) var connected: Set<PhoneID> = []
  /// The phones that the scan has lost while they were connected or being connected: their next attempt is not made.
  var lost: Set<PhoneID> = []
  /// The number of scan results ignored because the list was full.
  private(set) var dropped = 0

  /// The number of refused phones that are remembered: devices in range can make up any number of them.
  static let refusedLimit = 16

  init(phoneLimit: Int, capacity: Int) {
    self.phoneLimit = max(1, phoneLimit)
    self.capacity = max(phoneLimit, capacity)
  }

  /// A Boolean value that indicates whether another phone may be connected.
  var hasCandidates: Bool { connected.count < phoneLimit && results.values.contains(where: isCandidate) }

  /// The phones that the central does not use, with the reasons.
  var refused: [PhoneScanResult] { results.values.filter { $0.refusal != nil } }

  private func isCandidate(_ found: PhoneScanResult) -> Bool {
    found.refusal == nil && !connected.contains(found.id)
  }

  /// Adds a scan result. In a full list the weakest phone without a connection is replaced by a stronger one, and a
  /// refused one by any that may be used.
  mutating func add(_ found: PhoneScanResult) {
    if results[found.id] == nil {
      if found.refusal != nil, refused.count >= Self.refusedLimit {
        dropped += 1
        return
      }
      if results.count >= capacity {
        dropped += 1
        let weakest = results.values.filter { !connected.contains($0.id) }.min(by: Self.isWeaker)
        guard let weakest, Self.isWeaker(weakest, found) else { return }
        results[weakest.id] = nil
      }
    }
    results[found.id] = found
  }

  /// Removes a phone and its connection.
  mutating func remove(_ id: PhoneID) {
    results[id] = nil
    connected.remove(id)
    lost.remove(id)
  }

  /// Returns the strongest phones without a connection, within the limit; they count as connected from now on.
  mutating func admit() -> [PhoneScanResult] {
    let candidates = results.values.filter(isCandidate).sorted { Self.isWeaker($1, $0) }
    let admitted = Array(candidates.prefix(max(0, phoneLimit - connected.count)))
    connected.formUnion(admitted.map(\.id))
    return admitted
  }

  private static func isWeaker(_ left: PhoneScanResult, _ right: PhoneScanResult) -> Bool {
    if (left.refusal == nil) != (right.refusal == nil) { return left.refusal != nil }
    let leftRSSI = left.rssi ?? -127
    let rightRSSI = right.rssi ?? -127
    return leftRSSI != rightRSSI ? leftRSSI < rightRSSI : left.id > right.id
  }
}
