import Agent
import ArgumentParser
import Coverage
import DurableFiles
import Foundation
import SpeedTest
import SpeedTestNIO

/// The option that names the folder of the stored sessions.
struct CoverageFolderOptions: ParsableArguments {
  @Option(help: .stateFolder("The folder of the stored sessions.", below: "coverage")) var state: String?

  /// The folder, which need not exist.
  func folder() throws -> CoverageFolder {
    CoverageFolder(path: try StateFolder.path(named: state, of: "coverage", below: "/coverage"))
  }
}

/// The folder of the stored sessions, and of what control servers have assigned.
struct CoverageFolder: Sendable {
  let path: String

  private var file: String { path + "/coverage.sqlite" }

  /// Opens the sessions, in a folder for its user only.
  func store() throws -> CoverageStore {
    try Disk().createFolder(path)
    return try CoverageStore(path: file)
  }

  /// The sessions for looking at them; nothing is created or changed.
  func copy() throws -> CoverageStore { try CoverageStore.copy(of: file) }

  /// Opens the sessions if there are any; nothing is created otherwise.
  func existingStore() throws -> CoverageStore? { try Disk().exists(file) ? try CoverageStore(path: file) : nil }

  /// Returns the connection to a control server.
  func control(_ address: String, certificates: String?, acceptsTerms: Bool) throws -> CoverageControl {
    let device = ControlDevice.system
    let transport = try ControlHTTPTransport(certificates: certificates, language: device.language)
    let client = try ControlClient(address: address, transport: transport, device: device, folder: path)
    return CoverageControl(client: client, acceptsTerms: acceptsTerms)
  }
}

/// A control server that grants sessions of coverage, over the client of speed tests.
struct CoverageControl: CoverageTransport {
  let client: ControlClient
  let acceptsTerms: Bool

  func post(_ route: CoverageRoute, members: Data) async throws -> CoverageReply {
    do {
      let reply = try await client.post(route.rawValue, adding: members, acceptsTerms: acceptsTerms)
      return CoverageReply(status: reply.status, body: reply.body)
    } catch let error as SpeedTestError {
      let code: CoverageError.Code =
        switch error.code {
        // What precedes the request itself, of which the server has then received nothing.
        case .unreachable, .termsNotAccepted, .declined, .storage, .damagedFile, .busy, .invalidArgument: .unreachable
        case .invalidReply: .invalidReply
        default: .interrupted
        }
      throw CoverageError(code, error.message, errno: error.errno, hint: error.hint ?? Hints.hint(for: error))
    }
  }
}
