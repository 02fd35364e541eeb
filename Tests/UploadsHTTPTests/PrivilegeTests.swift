import Glibc
import SystemTesting
import Testing
import UploadsTesting

@Suite("The servers of the tests", .timeLimit(.minutes(5)))
struct PrivilegeTests {
  @Test("A server does not run as root, and writes its own folder only", .enabled(if: geteuid() == 0, "needs root"))
  func nobodyServes() async throws {
    let mine = try TemporaryFolder()
    let other = try TemporaryFolder()
    let words = ["-c", "id -u; touch \(mine.path)/a && echo own; touch \(other.path)/a 2>/dev/null || echo none"]
    let command = UnprivilegedCommand("sh", words, writing: [mine.path])
    let outcome = try await ChildProcess(command.program, command.arguments).outcome()
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.first != "0")
    #expect(lines.dropFirst() == ["own", "none"])
  }

  @Test("A program that such a user cannot reach is started as it is")
  func unreachable() throws {
    let folder = try TemporaryFolder()
    #expect(chmod(folder.path, 0o700) == 0)
    #expect(symlink("/bin/true", folder.path + "/server") == 0)
    let command = UnprivilegedCommand(folder.path + "/server", ["a"])
    #expect(command.program == folder.path + "/server")
    #expect(command.arguments == ["a"])
  }
}
