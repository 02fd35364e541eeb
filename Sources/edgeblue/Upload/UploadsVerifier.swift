import Uploads

/// Compares items with what their servers have, each with the credentials that would upload it.
final class UploadsVerifier {
  /// The result for an item.
  struct Finding {
    /// The state of the object; `nil` if it is unknown.
    var presence: ObjectPresence?
    /// The reason why it is unknown.
    var failure: Failure?

    /// A Boolean value that indicates whether the server is known to lack the file.
    var isWrong: Bool { presence.map { $0 != .same } ?? false }

    /// The result for display.
    var word: String {
      switch presence {
      case .same: "the same"
      case .absent: "absent"
      case .different: "different"
      case nil: "unknown"
      }
    }
  }

  private let items: QueueStore
  private let store: StoreOptions
  private let insecure: InsecureOptions
  private let terminal: Terminal
  private var credentials: S3Credentials
  private var clients: [String?: S3Client] = [:]
  /// The failures of the servers that did not respond: they are not asked for the rest of their items.
  private var silent: [String?: Failure] = [:]

  /// - Throws: An error of the source of the credentials: without any there is nothing to compare with.
  init(_ items: QueueStore, _ store: StoreOptions, _ insecure: InsecureOptions, _ terminal: Terminal) async throws {
    self.items = items
    self.store = store
    self.insecure = insecure
    self.terminal = terminal
    credentials = try await store.provider().credentials()
  }

  /// Compares an item with its server.
  /// - Throws: `CancellationError`.
  func compare(_ item: UploadItem) async throws -> Finding {
    let endpoint = item.request.endpoint
    if let failure = silent[endpoint] { return Finding(failure: failure) }
    do {
      return Finding(presence: try await presence(of: item))
    } catch let error as CancellationError {
      throw error
    } catch {
      let failure = Failure(error)
      if (error as? UploadsError)?.code == .unreachable { silent[endpoint] = failure }
      return Finding(failure: failure)
    }
  }

  private func presence(of item: UploadItem) async throws -> ObjectPresence {
    let request = item.request
    guard request.account == store.account else {
      throw Failure("it belongs to the account \(request.account), and not to \(store.account)", status: .notPermitted)
    }
    let client = try clients[request.endpoint] ?? client(of: request.endpoint)
    clients[request.endpoint] = client
    do {
      return try await client.presence(of: item, credentials: credentials)
    } catch let error as UploadsError where error.code == .badCredentials {
      // They may have expired since the first item.
      let new = try await store.provider().credentials()
      guard new != credentials else { throw error }
      credentials = new
      return try await client.presence(of: item, credentials: new)
    }
  }

  /// Returns a client of the server of an item.
  private func client(of endpoint: String?) throws -> S3Client {
    let server = try endpoint.map { try store.server($0, items) } ?? store.server(items)
    try insecure.check(server, terminal)
    return try store.client(of: server)
  }
}
