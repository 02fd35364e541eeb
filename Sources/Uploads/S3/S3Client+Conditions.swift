extension S3Client {
  /// The largest object that is sent a second time to find out whether the server keeps a condition: 64 KiB.
  static let probeLimit: Int64 = 64 << 10

  /// The behaviour of the server under the condition that no object exists, as far as it has shown it.
  public var condition: UploadServer.Condition { learned.withLock { $0.condition } }

  /// A Boolean value that indicates whether the server has not shown that it ignores or refuses conditions.
  var mayKeepConditions: Bool { [.unknown, .kept].contains(condition) }

  /// Sets what an earlier client has found out.
  func learn(_ condition: UploadServer.Condition) {
    learned.withLock { learned in
      guard learned.condition == .unknown else { return }
      learned.condition = condition
    }
  }

  /// Finds out, once, whether the server keeps the condition that no object exists: some ignore it without a word.
  ///
  /// A small object that has just been stored is created again under that condition, with the same bytes: the server
  /// refuses that, or has nothing to replace but equal bytes.
  /// - Returns: The behaviour; `nil` if it was known, or could not be found out.
  func probeCondition(
    with content: ObjectContent, bucket: String, key: String, credentials: S3Credentials
  ) async throws -> UploadServer.Condition? {
    guard condition == .unknown, content.size <= Self.probeLimit,
      try await presence(of: content, bucket: bucket, key: key, credentials: credentials) == .same
    else { return nil }
    do {
      try await put(content, bucket: bucket, key: key, replacing: false, credentials: credentials) { _ in }
      // A server that refuses conditions has said so meanwhile.
      learn(.ignored)
    } catch let error as UploadsError where error.code == .alreadyExists {
      learn(.kept)
    }
    return condition
  }

  /// Refuses to go on if an object exists that must not be replaced.
  ///
  /// Asked directly before an object is created, because some servers ignore the condition beside the request.
  func checkIsFree(_ key: String, in bucket: String, credentials: S3Credentials) async throws {
    do {
      guard try await head(bucket: bucket, key: key, credentials: credentials) != nil else { return }
    } catch let error as UploadsError where error.code == .forbidden && mayKeepConditions {
      // Credentials that may only write: the condition must do.
      return
    }
    throw UploadsError(.alreadyExists, "an object \(key) exists")
  }
}
