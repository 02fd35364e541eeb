import ArgumentParser

extension Secret {
  /// The help of the option that names the file of the secret, with the other places where it is looked for.
  /// - Parameter contents: The secret, as a phrase.
  func help(_ contents: String) -> ArgumentHelp {
    let others = ["the systemd credential \(name)", variable].compactMap(\.self).joined(separator: ", or ")
    return ArgumentHelp("A file whose first line is \(contents). Default: \(others).", valueName: "file")
  }
}
