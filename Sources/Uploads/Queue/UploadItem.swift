/// A request to upload a file as an object.
///
/// ```swift
/// let content = try ObjectContent(readingFile: "/srv/audio/talk.wav", contentType: "audio/wav")
/// var request = UploadRequest(
///   content, bucket: "recordings", key: "ada/talk.wav", account: "ada", afterwards: .remove)
/// request.sidecar = "/srv/audio/talk.json"  // removed with the file
/// request.manifest = "ada/manifest.ndjson"
/// ```
public struct UploadRequest: Sendable, Hashable {
  /// The treatment of the local files once the server has the bytes.
  public enum Afterwards: String, Sendable, Hashable, CaseIterable {
    /// The local files stay where they are.
    case keep
    /// The local files are removed, first the file and then its sidecar, unless the file has changed.
    case remove
  }

  /// The file to upload, with its checksum and metadata.
  public var content: ObjectContent
  /// The path of a file that is removed with the uploaded one and is not uploaded itself; `nil` by default.
  public var sidecar: String?
  /// The bucket to upload to: 3 to 63 lowercase letters, digits, dots and hyphens.
  public var bucket: String
  /// The key of the object: 1 to 1024 bytes of UTF-8.
  public var key: String
  /// The account whose credentials are used; no others ever are.
  public var account: String
  /// A Boolean value that indicates whether an existing object of this key is replaced.
  public var isReplacing: Bool
  /// The treatment of the local files once the server has the bytes.
  public var afterwards: Afterwards
  /// The URL of the server to upload to, as ``S3Endpoint/url`` has it; `nil` for the server of the queue that uploads the
  /// item first.
  ///
  /// An item goes to this server alone, until ``QueueStore/move(_:to:)`` names another one.
  public var endpoint: String?
  /// The key of the manifest, in the same bucket, that lists the object once it is uploaded; `nil` by default.
  ///
  /// ``ManifestEntry`` describes its lines.
  public var manifest: String?

  /// Creates a request without a sidecar and a manifest.
  /// - Parameters:
  ///   - content: The file to upload.
  ///   - bucket: The bucket to upload to.
  ///   - key: The key of the object.
  ///   - account: The account whose credentials are used.
  ///   - isReplacing: A Boolean value that indicates whether an existing object is replaced.
  ///   - afterwards: The treatment of the local files once the server has the bytes.
  public init(
    _ content: ObjectContent, bucket: String, key: String, account: String, isReplacing: Bool = false,
    afterwards: Afterwards = .keep
  ) {
    self.content = content
    self.bucket = bucket
    self.key = key
    self.account = account
    self.isReplacing = isReplacing
    self.afterwards = afterwards
  }

  func check() throws(UploadsError) {
    try S3Endpoint.check(bucket: bucket)
    try S3Endpoint.check(key: key)
    if let manifest { try S3Endpoint.check(key: manifest) }
    if let endpoint, try S3Endpoint(endpoint).url != endpoint {
      throw UploadsError(
        .invalidArgument, "the endpoint of “\(key)” is “\(endpoint)”; allowed: the URL of an S3Endpoint")
    }
    guard manifest != key else {
      throw UploadsError(.invalidArgument, "the manifest of “\(key)” has the same key; allowed: another key")
    }
    try content.check()
    guard content.path.hasPrefix("/") else {
      throw UploadsError(.invalidArgument, "the path “\(content.path)” is relative; allowed: an absolute path")
    }
    guard !account.isEmpty else {
      throw UploadsError(.invalidArgument, "the account of “\(key)” is empty; allowed: at least one character")
    }
  }
}

/// An item of an upload queue: a request with its state.
public struct UploadItem: Sendable, Hashable, Identifiable {
  /// The state of an item between adding and finishing.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// The item is to be uploaded, now or after a delay.
    case waiting
    /// The item is being uploaded, or was when its process stopped.
    case uploading
    /// The server has the object; the local files are not settled yet.
    case delivered
    /// The server has the object, and the local files are settled.
    case done
    /// The item has failed for good, until a user retries it.
    case failed
    /// The item is paused until a user resumes it.
    case paused
  }

  /// The ID of the item; later items have higher IDs, and no ID is used twice.
  public var id: Int64
  /// The request that the item was added with.
  public var request: UploadRequest
  /// The state of the item between adding and finishing.
  public var state: State
  /// The number of failed attempts since the item was added or a user retried it.
  public var attempts: Int
  /// The time at which the item was added, in Unix milliseconds.
  public var queuedAtMs: Int64
  /// The time of the next attempt, in Unix milliseconds; `nil` if it is unknown.
  public var nextAttemptAtMs: Int64?
  /// The time at which the item was done or failed for good, in Unix milliseconds.
  public var finishedAtMs: Int64?
  /// The reason of the last failure, for display.
  public var problem: String?
  /// The kind of the last failure.
  public var failure: FailureKind?
  /// The server's ID of the multipart upload in progress.
  public var uploadID: String?
  /// The parts that the server has, in order.
  public var parts: [UploadedPart]
  /// The identity of the file when it was added: device, inode, size and modification time.
  public var fingerprint: String
}
