/// The phones the scan has shown, and which of them have a link.
///
/// A value type: it decides whom to connect, best signal first.
struct Roster: Sendable {
  let phoneLimit: Int
  let sightingLimit: Int
  private(set) var sightings: [PhoneID: PhoneSighting] = [:]
  private(set) var linked: Set<PhoneID> = []
  /// Sightings not kept because the roster is full.
  private(set) var dropped = 0

  init(phoneLimit: Int, sightingLimit: Int) {
    self.phoneLimit = max(1, phoneLimit)
    self.sightingLimit = max(phoneLimit, sightingLimit)
  }

  /// Whether there is someone to connect and room for it.
  var hasCandidates: Bool { linked.count < phoneLimit && sightings.keys.contains { !linked.contains($0) } }

  /// Notes a sighting; in a full roster the weakest phone without a link makes room for a stronger one.
  mutating func see(_ sighting: PhoneSighting) {
    if sightings[sighting.id] == nil, sightings.count >= sightingLimit {
      dropped += 1
      let weakest = sightings.values.filter { !linked.contains($0.id) }.min(by: Self.isWeaker)
      guard let weakest, Self.isWeaker(weakest, sighting) else { return }
      sightings[weakest.id] = nil
    }
    sightings[sighting.id] = sighting
  }

  /// Forgets a phone, and its link if it has one.
  mutating func forget(_ id: PhoneID) {
    sightings[id] = nil
    linked.remove(id)
  }

  /// Takes the strongest phones that have no link yet, as many as there is room for; they count as linked from now.
  mutating func admit() -> [PhoneSighting] {
    let candidates = sightings.values.filter { !linked.contains($0.id) }.sorted { Self.isWeaker($1, $0) }
    let admitted = Array(candidates.prefix(max(0, phoneLimit - linked.count)))
    linked.formUnion(admitted.map(\.id))
    return admitted
  }

  private static func isWeaker(_ left: PhoneSighting, _ right: PhoneSighting) -> Bool {
    let (leftRSSI, rightRSSI) = (left.rssi ?? -127, right.rssi ?? -127)
    return leftRSSI != rightRSSI ? leftRSSI < rightRSSI : left.id > right.id
  }
}
