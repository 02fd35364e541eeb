import ArgumentParser
import Foundation
import IncomingHTTP
import Uploads

/// The option that permits plain http to other hosts.
struct InsecureOptions: ParsableArguments {
  @Flag(
    help: """
      Permit plain http to other hosts: everybody in the network can then read and change prompts, tokens and keys. \
      Without it, only https and this machine are permitted.
      """)
  var insecure = false

  /// Checks URLs that the user names, and warns of each one that is readable in the network.
  /// - Parameter urls: The URLs by the option that names each; `nil` where the default is used.
  /// - Throws: ``Failure`` for a plain URL of another host without `--insecure`.
  func check(_ urls: KeyValuePairs<String, String?>, _ terminal: Terminal) throws {
    for (option, url) in urls {
      guard let host = url.flatMap(Self.exposedHost) else { continue }
      guard insecure else {
        throw Failure(
          "\(option): the connection to \(host) would not be encrypted",
          hint: "write https://, or permit plain http with --insecure", status: .badInput)
      }
      terminal.whisper("warning: the connection to \(host) is not encrypted (\(option))")
    }
  }

  /// Checks a server of uploads that AWS's settings or the queue name, instead of an option.
  /// - Throws: ``Failure`` for a plain URL of another host without `--insecure`.
  func check(_ server: S3Endpoint, _ terminal: Terminal) throws { try check(["the server": server.url], terminal) }

  /// Returns a Boolean value that indicates whether requests may go to a URL.
  func permits(_ url: String) -> Bool { insecure || Self.exposedHost(url) == nil }

  /// Returns the host of a plain http URL that leaves this machine; `nil` for every other text.
  static func exposedHost(_ text: String) -> String? {
    guard let url = URL(string: text), url.scheme?.lowercased() == "http", let host = url.host(), !host.isEmpty else {
      return nil
    }
    return LoopbackRule.allows(host: host.contains(":") ? "[\(host)]" : host) ? nil : host
  }
}
