import DBusTesting
import Foundation
import Testing

/// The program people copy from, as somebody runs it who has just built it.
@Suite struct ExampleTests {
  private static let greeter = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../.build-examples/debug/Greeter").standardized.path

  @Test(.enabled(if: Tool.isInstalled(greeter), "needs the examples: scripts/build-examples"))
  func anObjectIsServedAndCalledAndHeardOf() async throws {
    let bus = try PrivateBus()
    let result = try await Tool.run(Self.greeter, [bus.address])
    #expect(result.output == "Hello, Ada\nsignal received: greeted Ada")
  }
}
