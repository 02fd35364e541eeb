import Glibc
internal import Streams

/// Reads what this machine is, how busy and how hot, from the kernel's files: without root, and without a daemon.
///
/// ```swift
/// let sensor = MachineSensor()
/// let telemetry = sensor.read()
/// ```
public struct MachineSensor: Sendable {
  /// What the processors had done at some moment, in ticks since the machine was started.
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

  /// Makes a sensor, and sees what kind of machine this is; that does not change.
  /// - Parameters:
  ///   - proc: where the kernel tells of processors.
  ///   - sys: where it tells of devices.
  public init(proc: String = "/proc", sys: String = "/sys") {
    (self.proc, self.sys) = (proc, sys)
    if SupplyFolder(path: "\(sys)/class/power_supply").hasBattery {
      kind = .laptop
    } else {
      kind = Self.isVirtual(proc: proc, sys: sys) ? .server : .desktop
    }
  }

  /// What is known now. The use of the processors is that since the reading before this one, or one before that: at
  /// least about a second; it is unknown at first.
  public func read() -> MachineTelemetry {
    MachineTelemetry(
      kind: kind, cpuUsagePct: usage(), thermalState: hottest().map(MachineTelemetry.ThermalState.init(celsius:)))
  }

  private func usage() -> Double? {
    let ticks = KernelFile(path: "\(proc)/stat").line.flatMap(Ticks.init)
    return state.withLock { state in
      guard let ticks else { return state.usage }
      guard let last = state.last, ticks.total >= last.total, ticks.busy >= last.busy else {
        (state.last, state.usage) = (ticks, nil)
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

  /// What a second has, all processors together: less says more about the moment than about the machine.
  private static let leastTicks = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)) * sysconf(Int32(_SC_NPROCESSORS_ONLN))))

  /// In °C, the hottest of all zones that say something a machine can be.
  private func hottest() -> Double? {
    let folder = "\(sys)/class/thermal"
    return KernelFile(path: folder).names.filter { $0.hasPrefix("thermal_zone") }
      .compactMap { KernelFile(path: "\(folder)/\($0)/temp").line.flatMap(Int.init) }
      .map { Double($0) / 1000 }.filter { (-50...150).contains($0) }.max()
  }

  /// Under a hypervisor an x86 processor says so, and a device tree has a node for it.
  private static func isVirtual(proc: String, sys: String) -> Bool {
    if KernelFile(path: "\(sys)/hypervisor/type").line != nil { return true }
    if !KernelFile(path: "\(proc)/device-tree/hypervisor").names.isEmpty { return true }
    let lines = KernelFile(path: "\(proc)/cpuinfo").text(limit: 1 << 14).split(separator: "\n")
    return lines.contains { $0.hasPrefix("flags") && $0.split(whereSeparator: \.isWhitespace).contains("hypervisor") }
  }
}

extension MachineSensor.Ticks {
  /// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; what guests had is in the
  /// first two as well.
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
