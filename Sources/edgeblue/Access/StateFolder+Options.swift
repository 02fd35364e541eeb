import Agent
import ArgumentParser
import Foundation

extension StateFolder {
  /// Returns the folder that `--state` names, or the usual one.
  /// - Parameters:
  ///   - named: The value of the option; `nil` without it.
  ///   - contents: The contents of the folder, for the error.
  ///   - suffix: The path of the folder below the usual state folder.
  /// - Throws: ``Failure`` if there is neither.
  static func path(named: String?, of contents: String, below suffix: String = "") throws -> String {
    let usual = usualPath(environment: ProcessInfo.processInfo.environment, isRoot: geteuid() == 0)
    guard let path = named ?? usual.map({ $0 + suffix }) else {
      throw Failure(
        "the folder of \(contents) is unknown: HOME is not set", hint: "name one with --state", status: .badInput)
    }
    return path
  }
}

extension ArgumentHelp {
  /// The help of an option that names a folder, which by default is the state folder or one below it.
  /// - Parameters:
  ///   - sentence: The folder in words, as a sentence.
  ///   - name: The name of the folder below the state folder; `nil` for the state folder itself.
  static func stateFolder(_ sentence: String, below name: String? = nil) -> ArgumentHelp {
    let start = name.map { "\($0) in STATE_DIRECTORY or, without it, in" } ?? "STATE_DIRECTORY or, without it,"
    return ArgumentHelp(
      "\(sentence) Default: \(start) /var/lib/edgeblue for root and ~/.local/state/edgeblue for other users.",
      valueName: "folder")
  }
}
