import Agent
import Foundation
import Logging
import SystemState

/// Tells whoever started the agent how it is: systemd, where that did.
struct AgentService: Sendable {
  let manager: ServiceManager
  let runner: ModeRunner

  /// Says that it works, what it does, and that it lives, until the task is cancelled.
  func run() async {
    manager.notifyReady(runner.status.summary)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await status in runner.statuses() { manager.report(status.summary) }
      }
      group.addTask { await manager.keepAlive { await runner.respond() } }
    }
    manager.notifyStopping()
  }
}

extension AgentStatus {
  /// The mode and what runs, in a few words.
  var summary: String { "\(mode): \(runState)" }
}

extension ModeMachine.Notice {
  /// Shows it to the person at the screen, where there is one.
  func show(logger: Logger) {
    // libdbus would start a bus where nobody sits.
    guard ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"] != nil else { return }
    let text = description
    Task {
      do {
        try await DesktopNotification(from: "EdgeBlue", "EdgeBlue agent", body: text).show()
      } catch {
        // The event log and the terminal have it.
        logger.warning("the desktop cannot be told", metadata: ["reason": "\(error)"])
      }
    }
  }
}
