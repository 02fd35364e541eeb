import ArgumentParser

/// The options of a command that uses the queue together with the servers of its items.
struct QueueServerOptions: ParsableArguments {
  @OptionGroup var queue: QueueOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var insecure: InsecureOptions
}
