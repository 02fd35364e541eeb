internal import FoundationEssentials
internal import Streams

/// What a server says of an object it has.
public struct StoredObject: Sendable, Hashable {
  /// Its length in bytes.
  public var size: Int64
  /// What the server knows this content by.
  public var etag: String
  /// Its SHA-256 in base 64, or `…-N` for an object of N parts; `nil` when the server keeps none.
  public var checksum: String?
  /// The checksum its uploader noted, in hexadecimal.
  public var claimedSHA256: String?
  /// Whether the server encrypts it so that the ETag is no MD5.
  public var isEncrypted: Bool
}

/// One page of a bucket's keys.
public struct ObjectPage: Sendable, Hashable {
  /// An object as a list names it.
  public struct Entry: Sendable, Hashable {
    /// Its key.
    public var key: String
    /// Its length in bytes.
    public var size: Int64
    /// What the server knows this content by.
    public var etag: String
  }

  /// The objects, by key.
  public var entries: [Entry]
  /// What the next page is asked for with; `nil` when this is the last.
  public var next: String?
}

extension S3Client {
  /// Sends a file as one object, and returns when it is proven that the server has these bytes.
  /// - Parameters:
  ///   - replacing: whether an object of this key may be replaced.
  ///   - onProgress: bytes that were handed to the connection.
  /// - Throws: ``UploadsError``; `.alreadyExists` when there is such an object, `.corrupted` when the server has other
  ///   bytes, `.fileChanged`.
  func put(
    _ content: ObjectContent, bucket: String, key: String, replacing: Bool, credentials: S3Credentials,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    guard let sum = [UInt8](hex: content.sha256) else {
      throw UploadsError(.invalidArgument, "“\(content.sha256)” is not a checksum")
    }
    let isProven = learned.withLock { $0.returnsChecksums }
    let digests = Lock(Digests())
    let headers = content.headers + [("x-amz-checksum-sha256", Data(sum).base64EncodedString())]
    func send(_ more: [(name: String, value: String)]) async throws -> S3Answer {
      let request = endpoint.request(
        "PUT", bucket: bucket, key: key, headers: headers + more,
        body: .file(FileSlice(path: content.path, length: content.size)))
      return try await perform(request, bucket: bucket, payload: content.sha256, credentials: credentials) {
        digests.withLock { $0 = Digests() }
        return S3Progress(sent: { bytes in
          // A server that returns the checksum has compared it itself.
          if !isProven { digests.withLock { $0.add(bytes) } }
          onProgress(bytes.count)
        })
      }
    }
    var answer: S3Answer?
    if !replacing {
      answer = try await conditional(send)
      if answer == nil, try await head(bucket: bucket, key: key, credentials: credentials) != nil {
        throw UploadsError(.alreadyExists, "there is an object \(key) already")
      }
    }
    let final = if let answer { answer } else { try await send([]) }
    let stored = try Self.stored(final, size: content.size, "PUT")
    learned.withLock { $0.returnsChecksums = stored.checksum != nil }
    if let checksum = stored.checksum {
      guard checksum == Data(sum).base64EncodedString() else { throw Self.differs(key) }
      return
    }
    if !isProven {
      let sent = digests.withLock { $0 }
      guard sent.sha256 == sum else { throw Self.changed(content) }
      if let md5 = stored.md5 {
        guard md5 == sent.md5.hex else { throw Self.differs(key) }
        return
      }
    }
    guard try await presence(of: content, bucket: bucket, key: key, credentials: credentials) == .same else {
      throw Self.differs(key)
    }
  }

  /// What the server has under a key; `nil` when there is nothing.
  public func head(bucket: String, key: String, credentials: S3Credentials) async throws -> StoredObject? {
    let request = endpoint.request(
      "HEAD", bucket: bucket, key: key, headers: [("x-amz-checksum-mode", "ENABLED")])
    do {
      let answer = try await perform(request, bucket: bucket, credentials: credentials)
      guard let size = answer.headers["content-length"].flatMap(Int64.init) else {
        throw UploadsError(.unexpectedReply, "HEAD \(key) was answered without a length", status: answer.status)
      }
      return try Self.stored(answer, size: size, "HEAD")
    } catch let error as UploadsError where error.code == .notFound {
      return nil
    }
  }

  /// Reads an object, piece by piece.
  /// - Returns: its length.
  @discardableResult public func get(
    bucket: String, key: String, credentials: S3Credentials,
    _ onBytes: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
  ) async throws -> Int64 {
    let count = Lock<Int64>(0)
    let request = endpoint.request("GET", bucket: bucket, key: key)
    let answer = try await perform(request, bucket: bucket, credentials: credentials) {
      S3Progress(received: { bytes in
        count.withLock { $0 += Int64(bytes.count) }
        onBytes(bytes)
      })
    }
    let length = count.withLock { $0 }
    guard answer.headers["content-length"].flatMap(Int64.init) ?? length == length else {
      throw UploadsError(.interrupted, "the answer to GET \(key) was cut off")
    }
    return length
  }

  /// Removes an object; one that is not there is no error.
  public func delete(bucket: String, key: String, credentials: S3Credentials) async throws {
    _ = try await perform(
      endpoint.request("DELETE", bucket: bucket, key: key), bucket: bucket, credentials: credentials)
  }

  /// A page of a bucket's keys.
  /// - Parameters:
  ///   - bucket: which bucket.
  ///   - prefix: how the keys begin.
  ///   - token: ``ObjectPage/next`` of the page before.
  ///   - limit: how many it has at most, up to 1000.
  ///   - credentials: who asks.
  public func list(
    bucket: String, prefix: String = "", after token: String? = nil, limit: Int = 1000, credentials: S3Credentials
  ) async throws -> ObjectPage {
    var query = [
      ("list-type", "2"), ("prefix", prefix), ("encoding-type", "url"), ("max-keys", "\(min(max(limit, 1), 1000))"),
    ]
    if let token { query.append(("continuation-token", token)) }
    let request = endpoint.request("GET", bucket: bucket, query: query.map { (name: $0.0, value: $0.1) })
    let answer = try await perform(request, bucket: bucket, credentials: credentials)
    let root = try Self.document(answer, "ListBucketResult", request)
    let isEncoded = root["EncodingType"] == "url"
    let entries = try root.all("Contents").map { item in
      guard let raw = item["Key"], let key = isEncoded ? raw.keyDecoded : raw,
        let size = item["Size"].flatMap(Int64.init)
      else { throw UploadsError(.unexpectedReply, "the list of \(bucket) has an object without a key or a size") }
      return ObjectPage.Entry(key: key, size: size, etag: (item["ETag"] ?? "").unquoted)
    }
    return ObjectPage(entries: entries, next: root["IsTruncated"] == "true" ? root["NextContinuationToken"] : nil)
  }

  /// An address at which anybody can read an object, for a while.
  /// - Parameters:
  ///   - bucket: which bucket.
  ///   - key: which object.
  ///   - lifetime: in seconds, up to 604800.
  ///   - credentials: who lets them.
  ///   - seconds: the Unix time from which it counts.
  public func presignedGet(
    bucket: String, key: String, lifetime: Int, credentials: S3Credentials, at seconds: Int64
  ) throws(UploadsError) -> String {
    let region = region(of: bucket, credentials)
    var request = endpoint.request("GET", bucket: bucket, key: key)
    request.authority = endpoint.authority(of: request, in: region)
    return try RequestSigner(credentials, region: region).presignedURL(for: request, lifetime: lifetime, at: seconds)
  }

  static func stored(_ answer: S3Answer, size: Int64, _ method: String) throws -> StoredObject {
    guard let etag = answer.headers["etag"]?.unquoted, !etag.isEmpty else {
      throw UploadsError(
        .unexpectedReply, "\(method) was answered with \(answer.status) and no ETag: that is not a server of S3",
        status: answer.status)
    }
    let encryption = answer.headers["x-amz-server-side-encryption"] ?? ""
    return StoredObject(
      size: size, etag: etag, checksum: answer.headers["x-amz-checksum-sha256"],
      claimedSHA256: answer.headers["x-amz-meta-\(ObjectContent.checksumName)"],
      isEncrypted: encryption.hasPrefix("aws:kms")
        || answer.headers["x-amz-server-side-encryption-customer-algorithm"] != nil)
  }

  /// The root of an answer, which is to have this name; an error may come with status 200.
  static func document(_ answer: S3Answer, _ name: String, _ request: S3Request) throws -> XMLElement {
    guard let root = XMLElement(answer.body) else {
      throw UploadsError(.unexpectedReply, "the answer to \(request.method) \(request.path) is not whole XML")
    }
    if root.name == "Error" {
      throw UploadsError(status: answer.status, error: root, hasBody: true, to: request)
    }
    guard root.name == name else {
      throw UploadsError(.unexpectedReply, "\(request.method) \(request.path) was answered with \(root.name)")
    }
    return root
  }

  static func changed(_ content: ObjectContent) -> UploadsError {
    UploadsError(.fileChanged, "\(content.path) is not what it was when it was queued")
  }

  static func differs(_ key: String) -> UploadsError {
    UploadsError(.corrupted, "the server has other bytes under \(key) than were sent")
  }
}

extension StoredObject {
  /// The MD5 of the content, in hexadecimal, where the ETag is one.
  var md5: String? {
    isEncrypted ? nil : [UInt8](hex: etag)?.count == 16 ? etag.lowercased() : nil
  }
}

extension String {
  var unquoted: String {
    hasPrefix("\"") && hasSuffix("\"") && count >= 2 ? String(dropFirst().dropLast()) : self
  }

  /// A key as `encoding-type=url` writes it.
  var keyDecoded: String? { replacing("+", with: " ").removingPercentEncoding }
}
