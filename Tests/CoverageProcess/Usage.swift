import Glibc

/// What this process has used.
enum Usage {
  /// The CPU time of all its threads, in seconds.
  static var cpu: Double {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }.reduce(0, +)
  }

  /// The largest resident size so far in MiB; 0 if the system does not tell.
  static var peak: Double {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard text.hasPrefix("VmHWM:") else { continue }
      return (text.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }
    return 0
  }
}
