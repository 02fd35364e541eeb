import ArgumentParser

/// Which adapter to use.
struct AdapterOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The adapter: hci0, or its address. Without it, the first one.", valueName: "name"))
  var adapter: String?
}
