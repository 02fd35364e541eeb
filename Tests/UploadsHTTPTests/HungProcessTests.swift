import Foundation
import SystemTesting
import Testing
import UploadsTesting

@testable import Uploads

/// Processes of tests that hang, or end too early: a test that waits for one fails soon, and says why.
@Suite(.timeLimit(.minutes(5))) struct HungProcessTests {
  @Test("A process that does not end is killed, and its threads are named") func hungProcessesAreKilled() async throws {
    let process = try ChildProcess("sh", ["-c", "echo said; echo erred >&2; exec sleep 600"], errors: .kept)
    let end = await process.outcome(within: .milliseconds(500))
    #expect(end.status == -1)
    #expect(end.output == "said\n")
    #expect(end.errors.hasPrefix("erred\n"))
    #expect(end.errors.contains("has not ended within 0.5 seconds; its threads:"))
    #expect(end.errors.contains(" sleep S "))
    #expect(process.hasEnded)
  }

  @Test("More errors than a pipe holds keep no process from ending") func errorsAreReadBesideTheOutput() async throws {
    let process = try ChildProcess("sh", ["-c", "head -c 300000 /dev/zero >&2; echo done"], errors: .kept)
    let end = await process.outcome()
    #expect(end.status == 0)
    #expect(end.output == "done\n")
    #expect(end.errors.utf8.count == 300_000)
  }

  @Test("A server that ends is not waited for, and its log is in the error") func deadServersAreNoticed() async throws {
    let folder = try TemporaryFolder()
    let command = UnprivilegedCommand("sh", ["-c", "echo the port is taken; exit 1"], writing: [folder.path])
    let server = try SeaweedFS.start(command, in: folder)
    let error = await #expect(throws: TestTimeout.self) {
      try await SeaweedFS.waitUntilUp(server, in: folder) { throw UploadsError(.unreachable, "no server responds") }
    }
    #expect(error?.description.contains("the port is taken") == true)
  }

  @Test("No two tests get the same port") func portsAreUnique() throws {
    let ports = try (0..<50).flatMap { _ in try LoopbackPort.free(3) }
    #expect(Set(ports).count == ports.count)
    // The kernel takes ports from 32,768 on for connections.
    #expect(ports.allSatisfy { $0 + 10_000 < 32_768 })
  }
}
