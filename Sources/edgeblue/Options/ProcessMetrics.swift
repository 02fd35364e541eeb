import Agent
import Glibc

/// The metrics of the build and of this process, with the names that Prometheus's client libraries use.
enum ProcessMetrics {
  static var all: [Metric] {
    let statistics = Statistics()
    return [
      Metric(
        "edgeblue_build_info", .gauge, "1, with the version of the program.",
        [.init(1, ["version": EdgeBlueVersion.current])]),
      Metric(
        "process_cpu_seconds_total", .counter, "The processor time that this process has used.",
        statistics.cpuSeconds),
      Metric(
        "process_resident_memory_bytes", .gauge, "The memory of this process that is in RAM.",
        statistics.residentBytes),
      Metric("process_open_fds", .gauge, "The open file descriptors of this process.", statistics.openFiles),
      Metric("process_threads", .gauge, "The threads of this process.", statistics.threads),
      Metric(
        "process_start_time_seconds", .gauge, "The Unix time at which this process was started.",
        statistics.startSeconds),
    ]
  }

  /// The figures of this process in /proc.
  private struct Statistics {
    let cpuSeconds: Double
    let residentBytes: Int?
    let threads: Int?
    let startSeconds: Double?
    let openFiles: Int?

    init() {
      var used = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
      cpuSeconds = Double(used.tv_sec) + Double(used.tv_nsec) / 1e9
      // After the name of the program, which may contain anything: field 3 of proc(5) and those that follow.
      let fields =
        (SystemFiles.text(of: "/proc/self/stat") ?? "").split(separator: ")").last?.split(separator: " ") ?? []
      threads = fields.count > 17 ? Int(fields[17]) : nil
      residentBytes = fields.count > 21 ? Int(fields[21]).map { $0 * sysconf(Int32(_SC_PAGESIZE)) } : nil
      let boot = (SystemFiles.text(of: "/proc/stat") ?? "").split(separator: "\n")
        .first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
      let ticks = fields.count > 19 ? Double(fields[19]) : nil
      startSeconds = boot.flatMap { boot in ticks.map { boot + $0 / Double(sysconf(Int32(_SC_CLK_TCK))) } }
      let entries = SystemFiles.entries(of: "/proc/self/fd")
      openFiles = entries.isEmpty ? nil : entries.count
    }
  }
}
