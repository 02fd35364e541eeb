import DBus

extension Device {
  static let batteryInterface = "org.bluez.Battery1"

  /// The battery level, 0 to 100 percent; `nil` when it is unknown, and without a connection.
  ///
  /// bluetoothd reads it from the device's Battery Service, or receives it from a ``BatteryProvider``.
  public var batteryLevel: Int? {
    core.state.withLock { state in
      state.generation == generation ? Self.batteryLevel(path, in: state.cache) : nil
    }
  }

  static func batteryLevel(_ path: ObjectPath, in cache: ObjectCache) -> Int? {
    cache.properties(path, batteryInterface)?["Percentage"]?.integer(as: Int.self).flatMap {
      (0...100).contains($0) ? $0 : nil
    }
  }
}
