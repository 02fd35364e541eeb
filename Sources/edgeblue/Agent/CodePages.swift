import Glibc
import Timing

/// The pages of the program's code that are mapped into this process.
///
/// The kernel maps 64 KiB around each page that is executed. Most of what the start of the agent brought in that way is
/// never executed again and would count as resident memory of a process that is at rest for days.
enum CodePages {
  /// The time from the start until the pages are released for the first time: 60 s. By then the start is over.
  private static let delay: Duration = .seconds(60)
  /// The interval at which they are released after that: 10 min. What a rare task has executed goes, too.
  private static let interval: Duration = .seconds(600)

  /// Releases the pages again and again, until the task is cancelled.
  static func keepReleasing() async {
    var wait = delay
    while true {
      do { try await Task.sleep(for: wait, clock: .steady) } catch { return }
      if let program = SystemFiles.target(of: "/proc/self/exe"), !isTraced { release(program) }
      wait = interval
    }
  }

  /// Unmaps the code of a file. It stays in the page cache, from which the kernel maps again what is executed.
  static func release(_ file: String) {
    for range in ranges(of: file, in: SystemFiles.text(of: "/proc/self/maps") ?? "") {
      // Advice only: when it is not taken, the pages stay.
      madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
    }
  }

  /// A debugger's breakpoints are private copies of pages, which would be lost.
  private static var isTraced: Bool {
    !(SystemFiles.text(of: "/proc/self/status") ?? "").contains("\nTracerPid:\t0\n")
  }

  /// Returns the addresses at which a file is mapped for execution. Its data is not among them: what the dynamic linker
  /// and the program have written there is in no file.
  /// - Parameter maps: The mappings, as proc(5) describes them.
  static func ranges(of file: String, in maps: String) -> [Range<UInt>] {
    maps.split(separator: "\n").compactMap { line in
      // Address, permissions, offset, device, inode, path, which may contain spaces.
      let fields = line.split(separator: " ", maxSplits: 5)
      guard fields.count == 6, fields[1] == "r-xp", fields[5].drop(while: { $0 == " " }) == file else { return nil }
      let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      return bounds.count == 2 && bounds[0] < bounds[1] ? bounds[0]..<bounds[1] : nil
    }
  }
}
