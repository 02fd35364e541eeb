import Foundation
import Testing

private let wayOut = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build-examples/debug/WayOut").standardized.path

@Suite(
  "The built example program of NetworkPath",
  .enabled(if: Namespace.isPermitted, "needs root, or to run under: unshare --user --map-root-user --net"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: wayOut), "needs the examples: scripts/build-examples")
)
struct ExampleTests {
  @Test("The example ends when the network is available") func endsWhenOnline() async throws {
    let namespace = try await Namespace()
    func example() async throws -> (status: Int32, output: String) {
      try await namespace.inside { try run("/usr/bin/env", ["timeout", "2", wayOut]) }
    }
    // Its output waits in a buffer, and goes with it when it is ended.
    #expect(try await example().status == 124)
    try await namespace.addCable("up0")
    try await namespace.ip("addr add 192.0.2.2/24 dev up0\nroute add default via 192.0.2.1")
    let result = try await example()
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("The default route uses up0"))
  }
}
