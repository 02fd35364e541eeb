internal import FoundationEssentials

/// A document that a control server is to receive exactly once, and the state of its delivery.
///
/// A control server accepts the result of a test once and refuses a repeat with status 400. So an attempt is recorded
/// before it is made: a refusal after an attempt whose outcome is unknown confirms that the document has arrived. The
/// results of QoS tests have no such guard; after an unknown outcome the server is asked whether it has them.
package struct Submission: Sendable, Hashable, Codable {
  /// The kind of the document.
  package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The result of a speed test.
    case result
    /// The results of the QoS tests.
    case qos
  }

  /// The event that the state machine accepts.
  package enum Event: Sendable, Hashable {
    /// An attempt starts.
    case begin
    /// The server replied, with the reasons of its refusal if it refused.
    case replied(status: Int, errors: [String])
    /// The server has certainly not received the document.
    case unreached(String)
    /// The server may have received the document.
    case lost(String)
    /// The server reported whether it has the document; `nil` when it did not.
    case looked(isThere: Bool?)
  }

  /// The instruction to the owner.
  package enum Action: Sendable, Hashable {
    /// Store the submission durably, before the next action.
    case save
    /// Post the document.
    case send
    /// Request whether the server has the document.
    case look
    /// End the attempt.
    case finish(SubmissionOutcome)
  }

  package let kind: Kind
  /// The identifier of the test.
  package let test: String
  /// The address of the control server.
  package let server: String
  /// The address that takes the document.
  package let url: String
  /// The instant at which the document was made, in milliseconds since 1970.
  package let createdMs: Int64
  /// The JSON document.
  package let document: String
  /// The number of attempts that were started.
  package private(set) var attempts = 0
  /// A Boolean value that indicates whether the server may have the document.
  package private(set) var isUnconfirmed = false
  /// The reason for which the server refuses the document; it is not sent again then.
  package private(set) var refusal: String?
  /// The value of ``isUnconfirmed`` before the present attempt.
  private var wasUnconfirmed = false

  package init(kind: Kind, test: String, server: String, url: String, createdMs: Int64, document: String) {
    self.kind = kind
    self.test = test
    self.server = server
    self.url = url
    self.createdMs = createdMs
    self.document = document
  }

  var isPlausible: Bool {
    ControlIdentifier.uuid(test) != nil && ControlURL(url) != nil && attempts >= 0 && createdMs.magnitude < 1 << 52
  }

  /// Accepts an event and returns what to do.
  package mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .begin: return isUnconfirmed && kind == .qos ? [.look] : attempt()
    case .looked(isThere: true): return [.finish(.submitted)]
    case .looked(isThere: false): return attempt()
    case .looked(isThere: nil):
      return [.finish(.waiting("the control server did not report whether it has the results"))]
    case .unreached(let reason):
      isUnconfirmed = wasUnconfirmed
      return [.save, .finish(.waiting(reason))]
    case .lost(let reason): return [.finish(.waiting(reason))]
    case .replied(let status, let errors): return replied(status, errors)
    }
  }

  private mutating func attempt() -> [Action] {
    attempts += 1
    wasUnconfirmed = isUnconfirmed
    isUnconfirmed = true
    return [.save, .send]
  }

  private mutating func replied(_ status: Int, _ errors: [String]) -> [Action] {
    let reason = errors.first ?? "status \(status)"
    switch status {
    case 200..<300 where errors.isEmpty: return [.finish(.submitted)]
    // What answers with these has stored nothing: a redirect, a limit, or a proxy in the server's place.
    case 300..<400, 429,
      401..<500 where errors.isEmpty && status != 408:
      isUnconfirmed = wasUnconfirmed
      return [.save, .finish(.waiting(reason))]
    // A failure of the server can have happened after it has stored the document.
    case 408, 500...: return [.finish(.waiting(reason))]
    default:
      if kind == .result, wasUnconfirmed, !Self.isAboutContents(reason) { return [.finish(.submitted)] }
      isUnconfirmed = false
      refusal = String(reason.prefix(200))
      return [.save, .finish(.declined(reason))]
    }
  }

  /// Returns `true` if a refusal is for the figures of a result, and not for its being a repeat.
  private static func isAboutContents(_ reason: String) -> Bool {
    let reason = reason.lowercased()
    return ["download", "upload", "ping", "network_type", "network type", "not found"].contains { reason.contains($0) }
  }
}

/// The outcome of an attempt to submit a document.
public enum SubmissionOutcome: Sendable, Hashable {
  /// The control server has the document.
  case submitted
  /// The document stays stored for a later attempt; with the reason.
  case waiting(String)
  /// The control server refuses the document, which is not sent again; with the reason.
  case declined(String)
}
