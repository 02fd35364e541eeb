import Foundation
import SystemTesting
import Testing
import UploadsTesting

/// Several places that have credentials at once, and a server that notes whose signature it gets.
@Suite(
  "The order of the sources of credentials", .enabled(if: Program.isThere, "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct CredentialsOrderTests {
  /// A place that has credentials, whose access key is the name of the place; the first ones precede the others.
  enum Place: String, CaseIterable {
    case option = "OPTION"
    case systemd = "SYSTEMD"
    case variables = "VARIABLES"
    case sharedFile = "SHARED"
    case home = "HOME"
  }

  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func write(_ place: Place, _ path: String) throws -> String {
    let file = URL(filePath: "\(folder.path)/\(path)")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    let text = "[default]\naws_access_key_id = \(place.rawValue)\naws_secret_access_key = secret\n"
    try Data(text.utf8).write(to: file)
    return file.path
  }

  /// Returns the access keys in the signatures of an upload.
  private func keys(_ places: some Collection<Place>, _ more: [String] = []) async throws -> Set<String> {
    let server = try FaultProxy(before: 1) { _, _ in .answer(404, "<Error><Code>NoSuchBucket</Code></Error>") }
    var words = [
      "upload", try folder.file("file", 100, seed: 1), "--bucket", "bucket", "--endpoint",
      "http://127.0.0.1:\(server.port)", "--state", folder.path + "/state",
    ]
    // Only what a place needs is there: a folder without credentials is the home of all others.
    var environment = ["HOME": folder.path + "/nobody"]
    for place in places {
      switch place {
      case .option: words += ["--credentials", try write(place, "named")]
      case .systemd:
        environment["CREDENTIALS_DIRECTORY"] = folder.path + "/credentials"
        _ = try write(place, "credentials/s3")
      case .variables:
        environment["AWS_ACCESS_KEY_ID"] = place.rawValue
        environment["AWS_SECRET_ACCESS_KEY"] = "secret"
      case .sharedFile: environment["AWS_SHARED_CREDENTIALS_FILE"] = try write(place, "shared")
      case .home:
        environment["HOME"] = folder.path + "/home"
        _ = try write(place, "home/.aws/credentials")
      }
    }
    let program = try ChildProcess(Program.path, words + more, environment: environment, output: .discarded)
    #expect(await program.outcome().status == 70)
    let scopes = server.seen.compactMap { $0.authorization.split(separator: "Credential=").last }
    return Set(scopes.map { String($0.prefix { $0 != "/" }) })
  }

  @Test("Each source precedes those that the documents name after it", arguments: Place.allCases)
  func theOrderIsAsDocumented(first: Place) async throws {
    #expect(try await keys(Place.allCases.drop { $0 != first }) == [first.rawValue])
  }

  @Test("A source is used though all others are absent", arguments: Place.allCases)
  func eachAloneIsEnough(place: Place) async throws {
    #expect(try await keys([place]) == [place.rawValue])
  }

  @Test("A profile that the user names precedes the variables, and no file that is named or loaded")
  func aNamedProfilePrecedesVariables() async throws {
    let profile = ["--profile", "default"]
    #expect(try await keys([.variables, .home], profile) == ["HOME"])
    #expect(try await keys([.systemd, .variables, .home], profile) == ["SYSTEMD"])
    #expect(try await keys([.option, .systemd, .variables, .home], profile) == ["OPTION"])
  }

  @Test("The documents name the sources in this order") func theDocumentsSaySo() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/uploads.md").standardized
    let text = try String(contentsOf: page, encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("The sources, in this order:") })
    let names = [
      "--credentials FILE", "systemd credential `s3`", "AWS_ACCESS_KEY_ID", "AWS_SHARED_CREDENTIALS_FILE",
      "~/.aws/credentials",
    ]
    let positions = names.compactMap { line.range(of: $0)?.lowerBound }
    #expect(positions.count == names.count)
    #expect(positions == positions.sorted())
  }
}
