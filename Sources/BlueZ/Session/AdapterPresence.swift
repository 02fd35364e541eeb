import DBus

/// The adapters as this session has seen them come and go, and the power that it requested for them.
struct AdapterPresence: Sendable {
  /// The power of an adapter at the moment when it vanished with bluetoothd.
  private enum FormerPower: Sendable {
    case on, off
  }

  /// The number of times an adapter appeared, and the number of times it was switched on.
  struct Counts: Sendable {
    var appearances = 0
    var powerUps = 0
  }

  /// The object that an address alone stands for: the last one that appeared while no other adapter had the address.
  private var homes: [BluetoothAddress: ObjectPath] = [:]
  private var counts: [ObjectPath: Counts] = [:]
  /// The adapters that vanished with bluetoothd or the bus and have not come back in their former state.
  private var awaited: [AdapterIdentity: FormerPower] = [:]
  /// The adapters that appeared and whose power must still be checked.
  private(set) var unchecked: Set<ObjectPath> = []
  /// The adapters that this session switched on and keeps on.
  private(set) var keptOn: Set<AdapterIdentity> = []
  /// The number of failures in a row to switch on an adapter again.
  private var powerFailures: [ObjectPath: Int] = [:]

  func counts(of path: ObjectPath) -> Counts { counts[path] ?? Counts() }

  /// Returns `true` if an adapter is about to come back.
  func isAwaited(_ adapter: AdapterIdentity) -> Bool { awaited[adapter] != nil }

  /// Returns the object that an address alone stands for.
  func home(of address: BluetoothAddress) -> ObjectPath? { homes[address] }

  /// Returns `true` if the session is about to switch on an adapter that appeared switched off.
  func isBeingSwitchedOn(_ adapter: AdapterIdentity, at path: ObjectPath) -> Bool {
    keptOn.contains(adapter) && unchecked.contains(path)
  }

  mutating func setKeptOn(_ on: Bool, _ adapter: AdapterIdentity) {
    if on { keptOn.insert(adapter) } else { keptOn.remove(adapter) }
  }

  mutating func appeared(_ path: ObjectPath, _ power: AdapterPower?, isOnly: Bool) {
    if isOnly, let power { homes[power.address] = path }
    counts[path, default: Counts()].appearances += 1
    powerFailures[path] = nil
    unchecked.insert(path)
    cameBack(power)
  }

  /// Records that an adapter could not be switched on again.
  /// - Returns: The number of failures in a row.
  mutating func failedToSwitchOn(_ path: ObjectPath) -> Int {
    powerFailures[path, default: 0] += 1
    return powerFailures[path, default: 1]
  }

  mutating func switchedOn(_ path: ObjectPath, _ power: AdapterPower?) {
    powerFailures[path] = nil
    counts[path, default: Counts()].powerUps += 1
    cameBack(power)
  }

  /// Records that an adapter vanished with bluetoothd.
  mutating func vanished(_ adapter: AdapterIdentity, _ power: AdapterPower) {
    awaited[adapter] = power.isOn || awaited[adapter] == .on ? .on : .off
  }

  /// Stops waiting for an adapter that did not come back in time.
  mutating func stopAwaiting(_ adapter: AdapterIdentity) { awaited[adapter] = nil }

  /// Records which adapters are still to be switched on.
  mutating func checked(leaving unchecked: Set<ObjectPath>) { self.unchecked = unchecked }

  /// An adapter that was on may need a moment more until bluetoothd has switched it on again.
  private mutating func cameBack(_ power: AdapterPower?) {
    guard let power else { return }
    // Adapters with one address come back one by one, so that the first is the only one for a moment.
    for path in [nil, power.path] {
      let adapter = AdapterIdentity(address: power.address, path: path)
      if power.isOn || awaited[adapter] == .off { awaited[adapter] = nil }
    }
  }
}

/// The object and the address of an adapter, and its power.
struct AdapterPower: Sendable {
  let path: ObjectPath
  let address: BluetoothAddress
  let isOn: Bool

  /// Reads the properties of an `org.bluez.Adapter1`.
  init?(_ path: ObjectPath, _ properties: [String: Value]?) {
    guard let address = properties?["Address"]?.string.flatMap(BluetoothAddress.init) else { return nil }
    self.path = path
    self.address = address
    isOn = properties?["Powered"]?.bool == true
  }
}
