import AudioIngestTesting
import Foundation
import SystemTesting
import Testing

/// The completions of values, as bash offers them after Tab.
@Suite(
  "Completions", .enabled(if: ChildProcess.path(of: "bash") != nil, "needs bash"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"))
struct CompletionTests {
  /// Sets what bash sets, calls the function of the script, and prints what it offers.
  private static let shell = #"""
    source <("$0" --generate-completion-script bash)
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$* COMP_POINT=${#COMP_LINE}
    _edgeblue edgeblue "${@: -1}" "${@: -2:1}"
    printf '%s\n' "${COMPREPLY[@]}"
    """#

  private func completions(of line: String) async throws -> [Substring] {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let shell = try ChildProcess("bash", ["-c", Self.shell, program] + words, errors: .kept)
    let outcome = await shell.outcome()
    #expect(outcome.errors.isEmpty, "\(outcome.errors)")
    return outcome.output.split(separator: "\n")
  }

  @Test(
    "The words of a value are offered",
    arguments: [
      ("edgeblue mode ", ["off", "on", "local"]), ("edgeblue lifecycle b", ["background"]),
      ("edgeblue phone --access e", ["encrypted"]), ("edgeblue status --bus s", ["system", "session"]),
      ("edgeblue record --format f", ["flac"]), ("edgeblue scan --log-level w", ["warning"]),
      ("edgeblue tasks run ", ["io.edgecoder.ios.runtime", "io.edgecoder.ios.heartbeat"]),
    ])
  func words(line: String, words: [Substring]) async throws {
    #expect(try await completions(of: line) == words)
  }

  @Test(
    "Files are offered where a file is named, and folders where a folder is", arguments: ["upload ", "record --out "])
  func files(command: String) async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path + "/kept", withIntermediateDirectories: false)
    try Data().write(to: URL(filePath: folder.path + "/kept.wav"))
    let all = [folder.path + "/kept", folder.path + "/kept.wav"]
    let offered = try await completions(of: "edgeblue \(command)\(folder.path)/ke").sorted()
    #expect(offered == (command == "upload " ? all : [all[0]]).map { $0[...] })
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
