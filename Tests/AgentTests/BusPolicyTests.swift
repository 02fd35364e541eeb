import DBus
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
    let served = try await Self.calls(servedOn: bus)
    #expect(served.isSuperset(of: Self.readers))
    #expect(served.contains("io.edgecoder.AgentDetails1.GetStatus"))
    for call in served.sorted() {
      // The policy decides before the arguments count: without any, nothing is changed.
      let isDenied = try await answer(bus, asNobody: true, [call]).contains("AccessDenied")
      #expect(isDenied != Self.readers.contains(call), "\(call)")
      #expect(try await answer(bus, asNobody: false, [call]).contains("AccessDenied") == false, "\(call)")
    }
    for call in [["\(Self.properties).GetAll", "'io.edgecoder.Agent1'"], ["io.edgecoder.Agent1.GetEvents", "1"]] {
      #expect(try await answer(bus, asNobody: true, call).contains("GDBus.Error") == false, "\(call)")
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
  private static let properties = "org.freedesktop.DBus.Properties"

  /// What every user may call. Any other method that the agent serves is for root and the group alone.
  private static let readers: Set = [
    "io.edgecoder.Agent1.GetEvents", "io.edgecoder.Tasks1.GetTasks", "\(properties).Get", "\(properties).GetAll",
    "org.freedesktop.DBus.Introspectable.Introspect",
  ]

  /// The methods of the agent's object, which is all that it serves.
  private static func calls(servedOn bus: PrivateBus) async throws -> Set<String> {
    let connection = try await bus.connect()
    defer { connection.close() }
    func described(_ path: ObjectPath) async throws -> String {
      try await connection.call(AgentBus.name, path, "org.freedesktop.DBus.Introspectable", "Introspect")
        .first?.string ?? ""
    }
    var path = ObjectPath.root
    for name in AgentBus.path.description.split(separator: "/") {
      #expect(try await described(path).matches(of: /<node name="([^"]*)"/).map(\.output.1) == [name])
      path = try path.appending(String(name))
    }
    let text = try await described(path)
    #expect(!text.contains("<node name"))
    var found: Set<String> = []
    var interface = ""
    for element in text.matches(of: /<(interface|method) name="([^"]*)"/) {
      if element.output.1 == "interface" {
        interface = String(element.output.2)
      } else {
        found.insert("\(interface).\(element.output.2)")
      }
    }
    return found
  }

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
