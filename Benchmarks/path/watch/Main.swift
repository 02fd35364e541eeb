import Glibc
import NetworkPath

/// EdgeBlue's half:  path-watch DOWN_MS UP_MS
///
/// Prints a line for each update, at once: its number, its status and how many addresses there are.
@main
struct Main {
  static func main() async throws {
    let times = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    guard times.count == 2 else { fatalError("usage: path-watch DOWN_MS UP_MS") }
    var options = NetworkPathMonitor.Options()
    options.settleDown = .milliseconds(times[0])
    options.settleUp = .milliseconds(times[1])
    let monitor = try await NetworkPathMonitor.start(options)
    // As a program reads that has to act at once.
    await Task(executorPreference: monitor.executor) { await tell(monitor) }.value
  }

  private static func tell(_ monitor: NetworkPathMonitor) async {
    for await update in monitor.updates() {
      let addresses = update.path.interfaces.reduce(0) { $0 + $1.addresses.count }
      let line = "\(update.number) \(update.path.status.rawValue) \(addresses)\n"
      _ = line.withCString { write(STDOUT_FILENO, $0, strlen($0)) }
    }
  }
}
