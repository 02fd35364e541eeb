import DBus

/// The change from one content of an advertisement to another, as bluetoothd can take it.
///
/// bluetoothd checks the size after each property. So those that leave come first, and those that stay or come follow.
struct AdvertisementChange {
  struct PropertiesChanged: Equatable {
    var changed: [String: Value] = [:]
    var invalidated: [String] = []
  }

  let signals: [PropertiesChanged]

  init(from former: AdvertisementPlan?, to next: AdvertisementPlan) {
    let old = former?.contentProperties ?? [:]
    let new = next.contentProperties
    let gone = old.keys.filter { new[$0] == nil }.sorted()
    let changed = new.filter { old[$0.key] != $0.value }
    var signals: [PropertiesChanged] = []
    if !gone.isEmpty { signals.append(.init(invalidated: gone)) }
    if !changed.isEmpty { signals.append(.init(changed: changed)) }
    self.signals = signals
  }
}
