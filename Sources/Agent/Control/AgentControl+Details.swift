internal import DBus

extension AgentControl {
  /// `io.edgecoder.AgentDetails1`: what `io.edgecoder.Agent1` and `io.edgecoder.Tasks1` leave out, for the owner alone.
  ///
  /// It has no signals and no properties: those of a bus reach every user.
  static func details(of runner: ModeRunner, _ tasks: AgentTasks) -> Interface {
    Interface(
      AgentBus.details,
      methods: [
        .init("GetStatus", out: [.init("properties", "a{sv}")]) { _ in
          let known = runner.status.properties.compactMap { name, _, value in value.map { (name, $0) } }
          return [.properties(Dictionary(uniqueKeysWithValues: known))]
        },
        .init("GetEvents", in: [.init("limit", "u")], out: [.init("events", "a(txss)")]) { call in
          let limit = call.arguments[0].integer() ?? 0
          return [.array(of: "(txss)", runner.log.newest(limit).map { .structure($0.values) })]
        },
        .init("GetTasks", out: [.init("tasks", "aa{sv}")]) { _ in
          [.array(of: "a{sv}", await tasks.tasks.map { .properties($0.properties) })]
        },
      ])
  }
}
