internal import DurableFiles
import Glibc
internal import Streams

/// A sensor that reads the kind, processor usage and temperature of the host from the kernel's files, without root.
///
/// ```swift
/// let sensor = MachineSensor()
/// let telemetry = sensor.read()
/// ```
public struct MachineSensor: Sendable {
  /// The work of the processors at one instant, in ticks since boot.
  struct Ticks: Sendable, Hashable {
    var busy: UInt64
    var total: UInt64
  }

  private struct State {
    var last: Ticks?
    var usage: Double?
  }

  private let proc: String
  private let sys: String
  private let kind: MachineTelemetry.Kind
  private let state = Lock(State())

  /// Creates a sensor and determines the kind of the host, which does not change.
  /// - Parameters:
  ///   - proc: The folder of the kernel's process file system.
  ///   - sys: The folder of the kernel's device file system.
  public init(proc: String = "/proc", sys: String = "/sys") {
    self.proc = proc
    self.sys = sys
    if SupplyFolder(path: "\(sys)/class/power_supply").hasBattery {
      kind = .laptop
    } else {
      kind = Self.isVirtual(proc: proc, sys: sys) ? .server : .desktop
    }
  }

  /// Reads the current values from the kernel.
  ///
  /// The processor usage is the mean since an earlier reading at least about 1 s ago; the first reading has none.
  public func read() -> MachineTelemetry {
    MachineTelemetry(
      kind: kind, cpuUsagePct: usage(), thermalState: hottest().map(MachineTelemetry.ThermalState.init(celsius:)))
  }

  private func usage() -> Double? {
    let ticks = SmallFile("\(proc)/stat").line.flatMap(Ticks.init)
    return state.withLock { state in
      guard let ticks else { return state.usage }
      guard let last = state.last, ticks.total >= last.total, ticks.busy >= last.busy else {
        state = State(last: ticks)
        return nil
      }
      let passed = ticks.total - last.total
      if passed >= Self.leastTicks {
        state.usage = min(100, 100 * Double(ticks.busy - last.busy) / Double(passed))
        state.last = ticks
      }
      return state.usage
    }
  }

  /// The ticks of one second of all processors: a shorter mean would be noise.
  private static let leastTicks = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)) * sysconf(Int32(_SC_NPROCESSORS_ONLN))))

  /// The temperature in °C of the hottest zone with a plausible value.
  private func hottest() -> Double? {
    let folder = "\(sys)/class/thermal"
    return SmallFile(folder).names.filter { $0.hasPrefix("thermal_zone") }
      .compactMap { SmallFile("\(folder)/\($0)/temp").line.flatMap(Int.init) }
      .map { Double($0) / 1000 }.filter { (-50...150).contains($0) }.max()
  }

  /// Returns whether a hypervisor is present: in the flags of an x86 processor or as a node of the device tree.
  private static func isVirtual(proc: String, sys: String) -> Bool {
    if SmallFile("\(sys)/hypervisor/type").line != nil { return true }
    if !SmallFile("\(proc)/device-tree/hypervisor").names.isEmpty { return true }
    let lines = (SmallFile("\(proc)/cpuinfo").text(limit: 1 << 14) ?? "").split(separator: "\n")
    return lines.contains { $0.hasPrefix("flags") && $0.split(whereSeparator: \.isWhitespace).contains("hypervisor") }
  }
}

extension MachineSensor.Ticks {
  /// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; the first two include
  /// the time of guests.
  init?(_ line: String) {
    let words = line.split(separator: " ")
    let numbers = words.dropFirst().prefix(8).compactMap { UInt64($0) }
    guard words.first == "cpu", numbers.count == min(8, words.count - 1), numbers.count >= 4 else { return nil }
    let (sum, isTooMuch) = numbers.reduce((UInt64(0), false)) { sum, number in
      let (next, overflow) = sum.0.addingReportingOverflow(number)
      return (next, sum.1 || overflow)
    }
    guard !isTooMuch else { return nil }
    let idle = numbers[3] + (numbers.count > 4 ? numbers[4] : 0)
    self.init(busy: sum - idle, total: sum)
  }
}
