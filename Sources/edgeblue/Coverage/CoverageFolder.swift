import Agent
import ArgumentParser
import Coverage
import DurableFiles
import Foundation
import JSONValues
import SpeedTest

/// The option that names the folder of the stored sessions.
struct CoverageFolderOptions: ParsableArguments {
  @Option(help: .stateFolder("The folder of the stored sessions.", below: "coverage"), completion: .directory)
  var state: String?

  /// The folder, which need not exist.
  func folder() throws -> CoverageFolder {
    CoverageFolder(path: try StateFolder.path(named: state, of: "coverage", below: "/coverage"))
  }
}

/// The folder of the stored sessions, and of what control servers have assigned.
struct CoverageFolder: Sendable {
  let path: String

  /// The sentence for a folder without sessions, which may be another one than its user meant.
  var emptiness: String { "No session is stored in \(path.printable)." }
  /// The folder of the files that wait for their upload.
  var uploads: String { path + "/uploads" }
  private var file: String { path + "/coverage.sqlite" }
  private var archiveFile: String { path + "/received.sqlite" }

  /// Opens the sessions, in a folder for its user only.
  func store() throws -> CoverageStore {
    try Disk().createFolder(path)
    return try CoverageStore(path: file)
  }

  /// The sessions for looking at them; nothing is created or changed.
  func copy() throws -> CoverageStore { try CoverageStore.copy(of: file) }

  /// Opens the sessions that a control server receives, in a folder for its user only.
  func archive() throws -> CoverageArchive {
    try Disk().createFolder(path)
    return try CoverageArchive(path: archiveFile)
  }

  /// Returns sessions with their fences, for looking at them; nothing is created or changed.
  /// - Parameters:
  ///   - session: The number of a session; `nil` for all.
  ///   - isReceived: `true` for the sessions that a control server has received, `false` for those of this machine.
  func parts(_ session: Int64?, isReceived: Bool) throws -> [CoverageExport.Part] {
    guard isReceived else { return try copy().parts(session) }
    let parts = try CoverageArchive.copy(of: archiveFile).parts()
    guard let session else { return parts }
    guard let part = parts.first(where: { $0.session.id == session }) else {
      throw CoverageError(.noSuchSession, "there is no received session \(session)")
    }
    return [part]
  }

  /// Opens the sessions if there are any; nothing is created otherwise.
  func existingStore() throws -> CoverageStore? { try Disk().exists(file) ? try CoverageStore(path: file) : nil }

  /// Returns the connection to a control server.
  func control(_ address: String, certificates: String?, acceptsTerms: Bool) throws -> CoverageControl {
    let client = try ControlClient.ofThisMachine(address, certificates: certificates, folder: path).client
    return CoverageControl(client: client, acceptsTerms: acceptsTerms)
  }
}

/// A control server that grants sessions of coverage, over the client of speed tests.
struct CoverageControl: CoverageTransport {
  let client: ControlClient
  let acceptsTerms: Bool

  func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply {
    do {
      return try await client.post(route.rawValue, adding: members, acceptsTerms: acceptsTerms)
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

extension CoverageStore {
  /// Returns a session with its fences, or all of them.
  fileprivate func parts(_ session: Int64?) throws -> [CoverageExport.Part] {
    let sessions = try session.map { [try self.session($0)] } ?? sessions()
    return try sessions.map { CoverageExport.Part(session: $0, fences: try fences(of: $0.id)) }
  }
}
