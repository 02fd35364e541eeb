// Exports an object on a message bus, calls its method, and receives its signal.
//
//     Greeter [ADDRESS OF A BUS]
import DBus
import Glibc

let bus = CommandLine.arguments.dropFirst().first.map(Connection.Bus.address) ?? .session

do {
  // The server exports an object.
  let server = try await Connection.open(bus)
  let greet = Interface.Method("Greet", in: [.init("name", "s")], out: [.init("greeting", "s")]) { call in
    guard let name = call.arguments[0].string, !name.isEmpty else {
      throw DBusError(name: "org.example.Error.Nobody", message: "the name is empty")
    }
    try server.emit(call.path, "org.example.Greeter", "Greeted", [.string(name)])
    return [.string("Hello, \(name)")]
  }
  let object = try server.export("/org/example/greeter", [Interface("org.example.Greeter", methods: [greet])])

  // The client addresses the server by its unique name, and subscribes to the signal before it calls the method.
  let client = try await Connection.open(bus)
  let greeted = try await client.signals(MatchRule(interface: "org.example.Greeter", member: "Greeted"))
  let reply = try await client.call(
    server.uniqueName, "/org/example/greeter", "org.example.Greeter", "Greet", ["Ada"], returning: "s")
  print(reply[0].string ?? "")
  for await signal in greeted {
    print("signal received: greeted", signal.arguments[0].string ?? "")
    break
  }
  object.remove()
} catch {
  print(error)
  exit(1)
}
