import Foundation
import FoundationXML
import SystemTesting

/// Introspection XML in a form that two documents can be compared in: order, comments and spacing left out.
struct Contract {
  /// Interface name → its members, sorted.
  var interfaces: [String: [String]] = [:]
  /// The names of the child nodes, sorted.
  var children: [String] = []

  init(xml: String) throws {
    let reader = Reader()
    let parser = XMLParser(data: Data(xml.utf8))
    parser.delegate = reader
    guard parser.parse() else { throw TestTimeout("malformed XML: \(xml)") }
    interfaces = reader.interfaces.mapValues { $0.sorted() }
    children = reader.children.sorted()
  }

  /// Reads one of the files in `dbus/`.
  init(file: String) throws {
    let root = URL(filePath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    try self.init(xml: String(contentsOf: root.appending(path: "dbus/\(file)"), encoding: .utf8))
  }

  private final class Reader: NSObject, XMLParserDelegate {
    var interfaces: [String: [String]] = [:]
    var children: [String] = []
    private var interface = ""
    private var member = ""
    private var input: [String] = []
    private var output: [String] = []

    func parser(
      _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      let name = attributes["name"] ?? ""
      switch element {
      case "node": if !name.isEmpty { children.append(name) }
      case "interface":
        interface = name
        interfaces[name] = []
      case "method", "signal":
        member = name
        input = []
        output = []
      case "arg":
        let argument = "\(name):\(attributes["type"] ?? "?")"
        if attributes["direction"] == "out" { output.append(argument) } else { input.append(argument) }
      case "property":
        interfaces[interface]?.append("property \(name) \(attributes["type"] ?? "?") \(attributes["access"] ?? "?")")
      default: break
      }
    }

    func parser(
      _ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?
    ) {
      let input = input.joined(separator: ", ")
      switch element {
      case "method":
        interfaces[interface]?.append("method \(member) (\(input)) -> (\(output.joined(separator: ", ")))")
      case "signal": interfaces[interface]?.append("signal \(member) (\(input))")
      default: break
      }
    }
  }
}
