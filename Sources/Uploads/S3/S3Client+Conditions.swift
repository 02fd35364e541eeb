extension S3Client {
  /// A way in which an object is created: servers may keep a condition on one and ignore it on the other.
  enum Creation: Sendable, Hashable {
    /// In one request.
    case whole
    /// From parts.
    case parts
  }

  /// The largest object that is sent a second time to find out whether the server keeps a condition: 64 KiB.
  static let probeLimit: Int64 = 64 << 10

  /// The behaviour of the server under the condition that no object exists beside a `PUT`, as far as it has shown it.
  public var condition: UploadServer.Condition { condition(.whole) }

  /// The behaviour of the server under that condition on completing parts, as far as it has shown it.
  public var completion: UploadServer.Condition { condition(.parts) }

  func condition(_ creation: Creation) -> UploadServer.Condition {
    learned.withLock { $0.verdicts[creation] ?? .unknown }
  }

  /// Sets what an earlier client has found out.
  func learn(_ condition: UploadServer.Condition, _ creation: Creation) {
    learned.withLock { learned in
      guard [nil, .unknown].contains(learned.verdicts[creation]) else { return }
      learned.verdicts[creation] = condition
    }
  }

  /// Finds out, once, whether the server keeps the condition that no object exists: some ignore it without a word.
  ///
  /// A small object that has just been stored is created again under that condition, with the same bytes, in one request
  /// and then from one part: the server refuses that, or has nothing to replace but equal bytes.
  /// - Returns: `true` if something was found out.
  func probeConditions(
    with content: ObjectContent, bucket: String, key: String, credentials: S3Credentials
  ) async throws -> Bool {
    var hasFound = false
    guard content.size <= Self.probeLimit else { return false }
    if condition == .unknown,
      try await presence(of: content, bucket: bucket, key: key, credentials: credentials) == .same
    {
      try await probeWhole(content, bucket: bucket, key: key, credentials: credentials)
      hasFound = true
    }
    // Once for each client, also if that fails: some servers have no parts, and some credentials do not permit them.
    guard completion == .unknown, content.size > 0, !hasProbedParts() else { return hasFound }
    try await probeParts(content, bucket: bucket, key: key, credentials: credentials)
    return hasFound || completion != .unknown
  }

  private func probeWhole(
    _ content: ObjectContent, bucket: String, key: String, credentials: S3Credentials
  ) async throws {
    do {
      try await put(content, bucket: bucket, key: key, replacing: false, credentials: credentials) { _ in }
      // A server that refuses conditions has said so meanwhile.
      learn(.ignored, .whole)
    } catch let error as UploadsError where error.code == .alreadyExists {
      learn(.kept, .whole)
    }
  }

  private func probeParts(
    _ content: ObjectContent, bucket: String, key: String, credentials: S3Credentials
  ) async throws {
    let upload = try await createMultipart(content, bucket: bucket, key: key, credentials: credentials)
    do {
      let part = try await uploadPart(
        FileSlice(path: content.path, length: content.size), number: 1, sum: [UInt8](hex: content.sha256) ?? [],
        of: upload, credentials: credentials, onProgress: { _ in })
      // Another program may have written the key since this one did.
      if try await presence(of: content, bucket: bucket, key: key, credentials: credentials) == .same {
        let response = try await conditional(beside: "POST") { headers in
          try await sendCompletion([part], of: upload, headers, credentials: credentials)
        }
        if response != nil { return learn(.ignored, .parts) }
      }
    } catch let error as UploadsError where error.code == .alreadyExists {
      learn(.kept, .parts)
    } catch {
      try await abortMultipart(upload.id, bucket: bucket, key: key, credentials: credentials)
      throw error
    }
    try await abortMultipart(upload.id, bucket: bucket, key: key, credentials: credentials)
  }

  /// Notes that the server is asked for its behaviour on completing parts.
  /// - Returns: `true` if it was before.
  private func hasProbedParts() -> Bool {
    learned.withLock { learned in
      defer { learned.hasProbedParts = true }
      return learned.hasProbedParts
    }
  }

  /// Refuses to go on if an object exists that must not be replaced.
  ///
  /// Asked directly before an object is created, because some servers ignore the condition beside the request. Without
  /// the permission to look only a server that is known to keep the condition may go on.
  func checkIsFree(
    _ key: String, in bucket: String, before creation: Creation, credentials: S3Credentials
  ) async throws {
    do {
      guard try await head(bucket: bucket, key: key, credentials: credentials) != nil else { return }
    } catch let error as UploadsError where error.code == .forbidden && condition(creation) == .kept {
      return
    }
    throw UploadsError(.alreadyExists, "an object \(key) exists")
  }
}
