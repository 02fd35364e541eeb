import Configuration
import Foundation

/// An option of a command that a settings file and the environment can set too.
struct Setting: Sendable, Hashable {
  /// The type of the value in the JSON file.
  enum Kind: String, Sendable {
    case text = "a string"
    case number = "a whole number"
    case flag = "true or false"
    /// A list; in a variable, its elements are separated by commas.
    case list = "a list of strings"
  }

  /// The name of the option without dashes, which is also the key in the file.
  var name: String
  var kind: Kind
  /// The names of further variables that other programs use for this setting.
  var otherVariables: [String] = []

  init(_ name: String, _ kind: Kind = .text, also otherVariables: String...) {
    self.name = name
    self.kind = kind
    self.otherVariables = otherVariables
  }
}

/// The settings of a command from the environment and a file.
///
/// An option on the command line takes precedence over a variable, and a variable over the file.
struct Settings: Sendable {
  /// The words that a setting adds to the command line, and the source of the setting.
  struct Addition: Sendable, Hashable {
    var words: [String]
    var source: String
  }

  /// The prefix of the names of variables.
  let prefix: String
  let known: [Setting]

  /// The largest size of a settings file, in bytes.
  private static let fileLimit = 1 << 20

  /// Returns the words to add to a command line.
  /// - Parameters:
  ///   - given: The words of the command line.
  ///   - file: The path of the settings file, if there is one.
  ///   - environment: The environment variables.
  /// - Throws: ``Failure``, which names the source, for unknown settings and values of the wrong type.
  func additions(to given: [String], file: String?, environment: [String: String]) throws -> [Addition] {
    let file = try file.map(File.init)
    if let file, let name = file.names.first(where: { setting(named: $0) == nil }) {
      throw unknown("\(file.place(of: name)): the setting “\(name)”", name, known.map(\.name))
    }
    let variables = known.flatMap { [variable(of: $0)] + $0.otherVariables }
    for name in environment.keys.sorted() where name.hasPrefix(prefix) && !variables.contains(name) {
      throw unknown("the variable \(name)", name, variables)
    }
    let provider = EnvironmentVariablesProvider(environmentVariables: environment)
    return try known.compactMap { setting in
      let option = "--\(setting.name)"
      if given.contains(where: { $0 == option || $0.hasPrefix(option + "=") }) { return nil }
      for name in [variable(of: setting)] + setting.otherVariables {
        guard let text = try provider.environmentValue(forName: name), !text.isEmpty else { continue }
        let source = "the variable \(name)"
        return Addition(words: try words(for: setting, text, from: source), source: source)
      }
      guard let file, let words = try file.words(for: setting) else { return nil }
      return Addition(words: words, source: file.place(of: setting.name))
    }
  }

  /// Returns the name of the variable of a setting.
  func variable(of setting: Setting) -> String {
    prefix + setting.name.uppercased().replacingOccurrences(of: "-", with: "_")
  }

  private func setting(named name: String) -> Setting? { known.first { $0.name == name } }

  private func unknown(_ what: String, _ name: String, _ names: [String]) -> Failure {
    let nearest = names.min { name.distance(to: $0) < name.distance(to: $1) }
    let hint = nearest.flatMap { name.distance(to: $0) <= max(2, $0.count / 3) ? "did you mean \($0)?" : nil }
    return Failure(
      "\(what.printable) is unknown", hint: hint ?? "the settings are: \(names.joined(separator: ", "))",
      status: .badInput)
  }

  private func words(for setting: Setting, _ text: String, from source: String) throws -> [String] {
    let option = "--\(setting.name)"
    switch setting.kind {
    case .text, .number: return [option + "=" + text]
    case .list: return text.split(separator: ",").map { option + "=" + $0.trimmingCharacters(in: .whitespaces) }
    case .flag:
      switch text.lowercased() {
      case "1", "true", "yes", "on": return [option]
      case "0", "false", "no", "off": return []
      default: throw Failure("\(source) is “\(text.printable)”; allowed: true or false", status: .badInput)
      }
    }
  }

  /// A JSON file with one object, whose members are settings.
  private struct File {
    let path: String
    let names: [String]
    private let values: JSONSnapshot
    private let text: String

    init(_ path: String) throws {
      self.path = path
      let contents = FileManager.default.contents(atPath: path) ?? Data()
      text = String(decoding: contents.prefix(Settings.fileLimit), as: UTF8.self)
      do {
        let data = try Data(contentsOf: URL(filePath: path))
        guard data.count <= Settings.fileLimit else {
          throw Failure("\(path) has \(data.count) bytes; at most \(Settings.fileLimit) are allowed", status: .badInput)
        }
        guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
          throw Failure("\(path) is not one JSON object", hint: #"for example {"engine": "ollama"}"#, status: .badInput)
        }
        names = object.keys.sorted()
        values = try JSONSnapshot(data: data.bytes, providerName: path, parsingOptions: .default)
      } catch let error as Failure {
        throw error
      } catch {
        throw Failure(Self.fault(error, in: path, text), status: .badInput)
      }
    }

    /// The file with the line and the column of a setting's name, as compilers print them; the file alone if the name is
    /// written with escapes.
    func place(of name: String) -> String {
      guard let range = text.range(of: "\"\(name)\"") else { return path }
      return "\(path):\(Self.place(text[..<range.lowerBound].utf8))"
    }

    /// Returns the error of a file that cannot be read, or that is no JSON, with the place where it ends to be JSON.
    private static func fault(_ error: any Error, in path: String, _ text: String) -> String {
      let detail = (error as NSError).userInfo["NSDebugDescription"] as? String ?? ""
      guard let offset = detail.firstMatch(of: /character (\d+)/).flatMap({ Int($0.1) }) else {
        return "read settings from \(path): \(error.localizedDescription)"
      }
      return "\(path):\(place(text.utf8.prefix(offset))): this is no JSON"
    }

    /// Returns the line and the column after some text, counted from 1.
    private static func place(_ before: some BidirectionalCollection<UInt8>) -> String {
      let newline = UInt8(ascii: "\n")
      let column = before.reversed().prefix { $0 != newline }.count + 1
      return "\(before.count { $0 == newline } + 1):\(column)"
    }

    /// Returns the words of a setting; `nil` if the file does not contain it.
    func words(for setting: Setting) throws -> [String]? {
      let option = "--\(setting.name)"
      guard names.contains(setting.name) else { return nil }
      let type: ConfigType =
        switch setting.kind {
        case .text: .string
        case .number: .int
        case .flag: .bool
        case .list: .stringArray
        }
      do {
        switch try values.value(forKey: AbsoluteConfigKey([setting.name]), type: type).value?.content {
        case .string(let text): return [option + "=" + text]
        case .int(let number): return [option + "=\(number)"]
        case .bool(let isSet): return isSet ? [option] : []
        case .stringArray(let texts): return texts.map { option + "=" + $0 }
        default: break
        }
      } catch {
        // The error below names the expected type.
      }
      throw Failure("\(place(of: setting.name)): “\(setting.name)” is not \(setting.kind.rawValue)", status: .badInput)
    }
  }
}
