import DBusTesting
import Foundation
import SystemTesting
import Testing

@testable import Agent

@Suite(
  "The bus policy dbus/io.edgecoder.Agent1.conf", .enabled(if: geteuid() == 0, "needs root, to be somebody else"),
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: ChildProcess.path(of: "gdbus") != nil, "needs gdbus"),
  .enabled(if: ChildProcess.path(of: "setpriv") != nil, "needs setpriv"), .timeLimit(.minutes(5)))
struct BusPolicyTests {
  @Test("Every user may read the status, and only root may change it or read the details")
  func everybodyReadsAndRootControls() async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let bus = try PrivateBus(policies: [root.appending(path: "dbus/io.edgecoder.Agent1.conf")])
    let fixture = Fixture(ModeRecord())
    let background = try TasksFixture(log: fixture.runner.log)
    let control = try await AgentControl.open(
      fixture.runner, tasks: background.tasks, lifecycle: try await background.lifecycle(), on: .address(bus.address))
    let reading = [
      ["org.freedesktop.DBus.Properties.GetAll", "'io.edgecoder.Agent1'"], ["io.edgecoder.Agent1.GetEvents", "1"],
      ["io.edgecoder.Tasks1.GetTasks"], ["org.freedesktop.DBus.Introspectable.Introspect"],
    ]
    let restricted = [
      ["io.edgecoder.Agent1.SetMode", "'off'"], ["io.edgecoder.Agent1.SetRunOnlyWhileCharging", "false"],
      ["io.edgecoder.Agent1.SetLifecycle", "'auto'"], ["io.edgecoder.Tasks1.Expire", "'x'"],
      ["io.edgecoder.Tasks1.Run", "'x'"], ["io.edgecoder.AgentDetails1.GetStatus"],
      ["io.edgecoder.AgentDetails1.GetEvents", "1"], ["io.edgecoder.AgentDetails1.GetTasks"],
    ]
    for call in reading {
      #expect(try await answer(bus, asNobody: true, call).contains("GDBus.Error") == false, "\(call)")
    }
    for call in restricted {
      #expect(try await answer(bus, asNobody: true, call).contains("AccessDenied"), "\(call)")
      #expect(try await answer(bus, asNobody: false, call).contains("AccessDenied") == false, "\(call)")
    }
    withExtendedLifetime(control) {}
  }

  @Test("Only root may own the agent's name, so that no other user can answer for it") func onlyRootOwnsTheName()
    async throws
  {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let bus = try PrivateBus(policies: [root.appending(path: "dbus/io.edgecoder.Agent1.conf")])
    let request = [Self.daemon, "/", "\(Self.daemon).RequestName", "'\(AgentBus.name)'", "4"]
    #expect(try await answer(bus, asNobody: true, of: request).contains("AccessDenied"))
    // The caller becomes the primary owner, which is 1.
    #expect(try await answer(bus, asNobody: false, of: request).contains("(uint32 1,)"))
  }

  private static let daemon = "org.freedesktop.DBus"

  /// What a call of the agent prints, errors included.
  private func answer(_ bus: PrivateBus, asNobody: Bool, _ call: [String]) async throws -> String {
    try await answer(bus, asNobody: asNobody, of: [AgentBus.name, AgentBus.path.description] + call)
  }

  /// What a call prints, errors included: the destination, the object, the method, and its arguments.
  private func answer(_ bus: PrivateBus, asNobody: Bool, of call: [String]) async throws -> String {
    let somebody = asNobody ? ["--reuid=65534", "--regid=65534", "--clear-groups"] : []
    let process = try ChildProcess(
      "setpriv",
      somebody + [
        "gdbus", "call", "--address", bus.address, "--dest", call[0], "--object-path", call[1], "--method",
      ] + call.dropFirst(2), errors: .kept)
    let outcome = await process.outcome()
    return outcome.output + outcome.errors
  }
}
