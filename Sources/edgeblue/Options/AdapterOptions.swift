import ArgumentParser

/// The option that names the Bluetooth adapter to use.
struct AdapterOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The adapter: its name, such as hci0, or its address. Default: the first adapter.", valueName: "name"),
    completion: .adapters)
  var adapter: String?
}
