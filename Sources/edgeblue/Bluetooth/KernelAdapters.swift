import Foundation
import Timing

/// The Bluetooth adapters that the kernel has, with or without a running bluetoothd.
enum KernelAdapters {
  /// The longest time between two looks: 1 min. From 20 s on, a look comes together with something else, such as a
  /// heartbeat.
  private static let interval: Duration = .seconds(60)

  /// A Boolean value that indicates whether there is an adapter.
  static var exist: Bool { exist(in: "/sys/class/bluetooth") }

  /// Returns `true` if a folder of devices, which is missing on a host without Bluetooth, contains an adapter.
  static func exist(in folder: String) -> Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    // A connection is a device as well: hci0:64.
    return names.contains { $0.wholeMatch(of: /hci[0-9]+/) != nil }
  }

  /// Calls a closure when the first adapter appears or the last one goes, until the task is cancelled.
  static func follow(_ change: @Sendable (Bool) async -> Void) async {
    var last: Bool?
    while !Task.isCancelled {
      let now = exist
      if now != last { await change(now) }
      last = now
      do { try await SteadyClock().rest(atMost: interval) } catch { return }
    }
  }
}
