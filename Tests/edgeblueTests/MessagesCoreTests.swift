import DBusTesting
import Foundation
import SystemTesting
import Testing

/// The commands that handle secrets of messages, while they run: a core of them would contain those.
@Suite(
  "No core of a program with secrets",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct MessagesCoreTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-core-\(UUID().uuidString.prefix(8))"

  @Test(
    "Each command forbids its core before it asks for a secret, or does its work",
    arguments: [
      "messages setup --server http://127.0.0.1:1 --keys FOLDER/keys/keys.json --root $(cat FOLDER/root) --state "
        + "FOLDER/other --passphrase-fd 3",
      "messages write --to desk --state FOLDER/state --passphrase-fd 3",
      "messages status --state FOLDER/state --passphrase-fd 3",
      "messages run --state FOLDER/state", "messages keys make FOLDER/others --recipient desk",
      "messages open FOLDER/segments --keys FOLDER/keys --json", "messages relay --state FOLDER/state",
      "agent --messages --state FOLDER --bus $DBUS_SYSTEM_BUS_ADDRESS",
    ])
  func noCore(command: String) async throws {
    try await setUp()
    let bus = try PrivateBus()
    // The program stops where it reads a passphrase that nobody writes, or where it prints to a pipe that is full: its result, or
    // that there is no adapter.
    let words = command.replacing("FOLDER", with: folder)
    let script = """
      cd \(folder) && mkfifo full silent && exec 3<>silent 4<>full && \
      dd if=/dev/zero bs=65536 count=1 >&4 2>/dev/null && exec \(program) \(words) >&4 2>&4
      """
    let child = try ChildProcess(
      "sh", ["-c", "echo $$ >\(folder)/number; ulimit -c unlimited; \(script)"],
      environment: [
        "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": folder,
        "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
      ])
    try await eventually("\(command) forbids its core", within: .seconds(20)) {
      guard let text = try? String(contentsOfFile: folder + "/number", encoding: .utf8), text.hasSuffix("\n") else {
        return false
      }
      let limits = try String(contentsOfFile: "/proc/\(text.dropLast())/limits", encoding: .utf8)
      let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
      return line.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"]
    }
    child.kill()
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Makes keys, a sender, and an empty folder of segments.
  private func setUp() async throws {
    let commands = """
      cd \(folder) && mkdir segments && printf 'correct horse' >pass &&
      \(program) messages keys make keys --recipient desk --json >made &&
      sed -E 's/.*"root":"([^"]*)".*/\\1/' made >root &&
      \(program) messages setup --state messages --server http://127.0.0.1:1 --keys \(folder)/keys/keys.json \
        --root "$(cat root)" --passphrase-fd 3 3<pass && ln -s messages state
      """
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let setup = try ChildProcess("sh", ["-c", commands], output: .discarded)
    try #require(await setup.outcome().status == 0)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
