import DBusTesting
import Foundation
import Testing

@Suite("The built example programs of D-Bus") struct ExampleTests {
  private static let greeter = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../.build-examples/debug/Greeter").standardized.path

  @Test(
    "An object is served and called by the example",
    .enabled(if: Tool.isInstalled(greeter), "needs the examples: scripts/build-examples"))
  func anObjectIsServedAndCalledAndHeardOf() async throws {
    let bus = try PrivateBus()
    let result = try await Tool.run(Self.greeter, [bus.address])
    #expect(result.output == "Hello, Ada\nsignal received: greeted Ada")
  }
}
