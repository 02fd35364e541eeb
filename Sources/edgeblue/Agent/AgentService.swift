import Agent
import Foundation
import Logging
import SystemState

/// Reports the state of the agent to systemd, if systemd started the agent.
struct AgentService: Sendable {
  let manager: ServiceManager
  let runner: ModeRunner

  /// Reports readiness, status and watchdog keep-alives until the task is cancelled.
  func run() async {
    manager.notifyReady(runner.status.summary)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await status in runner.statuses(changing: \.summary) { manager.report(status.summary) }
      }
      group.addTask { await manager.keepAlive { await runner.respond() } }
    }
    manager.notifyStopping()
  }
}

extension AgentStatus {
  /// The mode and the run state, on one line, which systemd tells every user.
  var summary: String { "\(mode): \(forEverybody.runState)" }
}

extension ModeMachine.Notice {
  /// Shows the notice on the desktop, if there is one.
  func show(logger: Logger) {
    // Without a session, libdbus would start a bus.
    guard ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"] != nil else { return }
    let text = description
    Task {
      do {
        try await DesktopNotification(from: "EdgeBlue", "EdgeBlue agent", body: text).show()
      } catch {
        // The event log and the terminal show the notice too.
        logger.warning("desktop notification failed", metadata: ["reason": "\(Failure(error).message)"])
      }
    }
  }
}
