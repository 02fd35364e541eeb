/// What is to be uploaded, as a caller says it.
public struct UploadRequest: Sendable, Hashable {
  /// What becomes of the local files once the server has the bytes.
  public enum Afterwards: String, Sendable, Hashable, CaseIterable {
    /// They stay.
    case keep
    /// They are removed, if they are still what they were: first the file, then its sidecar.
    case remove
  }

  /// The file, and what is said about it.
  public var content: ObjectContent
  /// A file that belongs to it, goes with it, and is not uploaded.
  public var sidecar: String?
  /// Where to.
  public var bucket: String
  /// Under which name.
  public var key: String
  /// In whose name; only this account's credentials are used, ever.
  public var account: String
  /// Whether an object of this key may be replaced.
  public var isReplacing: Bool
  /// What becomes of the local files.
  public var afterwards: Afterwards
  /// The key of an object in the same bucket that lists it, with others, once it is there: see ``ManifestEntry``.
  public var manifest: String?

  /// Describes an upload.
  public init(
    _ content: ObjectContent, bucket: String, key: String, account: String, sidecar: String? = nil,
    isReplacing: Bool = false, afterwards: Afterwards = .keep, manifest: String? = nil
  ) {
    self.content = content
    self.sidecar = sidecar
    self.bucket = bucket
    self.key = key
    self.account = account
    self.isReplacing = isReplacing
    self.afterwards = afterwards
    self.manifest = manifest
  }

  func check() throws(UploadsError) {
    try S3Endpoint.check(bucket: bucket)
    try S3Endpoint.check(key: key)
    if let manifest { try S3Endpoint.check(key: manifest) }
    guard manifest != key else { throw UploadsError(.invalidArgument, "“\(key)” cannot list itself") }
    try content.check()
    guard content.path.hasPrefix("/") else {
      throw UploadsError(.invalidArgument, "“\(content.path)” does not begin at the root")
    }
    guard !account.isEmpty else { throw UploadsError(.invalidArgument, "an upload needs an account") }
  }
}

/// An upload in the queue.
public struct UploadItem: Sendable, Hashable, Identifiable {
  /// Where it is on its way.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// It is to be uploaded, now or later.
    case waiting
    /// It is being uploaded, or was when the program ended.
    case uploading
    /// The server has it; the local files are still to be seen to.
    case delivered
    /// All is done.
    case done
    /// It has failed for good, until a person wants it tried again.
    case failed
    /// A person holds it.
    case paused
  }

  /// Its number: later ones are higher.
  public var id: Int64
  /// What was asked for.
  public var request: UploadRequest
  /// Where it is on its way.
  public var state: State
  /// How often it has failed since it was queued or a person had it tried again.
  public var attempts: Int
  /// When it was queued, in Unix milliseconds.
  public var queuedAtMs: Int64
  /// When it is tried next, in Unix milliseconds; `nil` when nothing is known.
  public var nextAttemptAtMs: Int64?
  /// Since when it is done or has failed, in Unix milliseconds.
  public var endedAtMs: Int64?
  /// Why it failed last, and what kind of failure it was.
  public var problem: String?
  /// The kind of the failure.
  public var failure: FailureKind?
  /// The upload in parts that was begun.
  public var uploadID: String?
  /// The parts the server has, in order.
  public var parts: [UploadedPart]
  /// What the file was when it was queued.
  public var fingerprint: String
}
