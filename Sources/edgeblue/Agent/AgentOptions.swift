import Agent
import SystemState

extension ModeRunner.Options {
  /// Options with which each notice appears in the terminal and on the desktop.
  static func notifying(_ terminal: Terminal) -> ModeRunner.Options {
    var options = ModeRunner.Options()
    let logger = options.logger
    // Each failure is an event, which is printed; the log would say it once more.
    options.logger.logLevel = .critical
    options.notify = { notice in
      terminal.happened(notice.description, "notice", ["notice": .string(notice.rawValue)])
      notice.show(logger: logger)
    }
    return options
  }
}

extension AgentTasks.Options {
  /// Options with which system sleep waits until the running background task has ended.
  static var delayingSleep: AgentTasks.Options {
    var activity = BackgroundActivity.Options()
    activity.why = "a background task runs"
    var options = AgentTasks.Options()
    options.activity = BackgroundActivity(activity)
    return options
  }
}
