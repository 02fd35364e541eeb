internal import FoundationEssentials
internal import Streams

/// The properties of an object as its server returns them.
public struct StoredObject: Sendable, Hashable {
  /// The length of the object in bytes.
  public var size: Int64
  /// The ETag of the object, which identifies its content.
  public var etag: String
  /// The SHA-256 of the object in Base64, or `…-N` for an object of N parts; `nil` if the server has none.
  public var checksum: String?
  /// The SHA-256 that the uploader put into the metadata, in hexadecimal.
  public var claimedSHA256: String?
  /// A Boolean value that indicates whether the server encrypts the object, so that its ETag is no MD5.
  public var isEncrypted: Bool
}

/// A page of the list of objects in a bucket.
public struct ObjectPage: Sendable, Hashable {
  /// An object in the list, with its size and ETag.
  public struct Entry: Sendable, Hashable {
    /// The key of the object, unique in its bucket.
    public var key: String
    /// The length of the object in bytes.
    public var size: Int64
    /// The ETag of the object, which identifies its content.
    public var etag: String
  }

  /// The objects of the page, in order of their keys.
  public var entries: [Entry]
  /// The token for the next page; `nil` on the last one.
  public var next: String?
}

extension S3Client {
  /// Sends a file as one object, and returns when the server has proven to have the bytes.
  /// - Parameters:
  ///   - replacing: A Boolean value that indicates whether an existing object may be replaced.
  ///   - onProgress: A closure that receives the number of bytes passed to the connection.
  /// - Throws: ``UploadsError``; with code `.alreadyExists` if the object exists, `.corrupted` if the server has other
  ///   bytes, `.fileChanged`.
  func put(
    _ content: ObjectContent, bucket: String, key: String, replacing: Bool, credentials: S3Credentials,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    guard let sum = [UInt8](hex: content.sha256) else {
      throw UploadsError(
        .invalidArgument, "the SHA-256 of \(content.path) is “\(content.sha256)”; allowed: 64 hexadecimal digits")
    }
    let isProven = learned.withLock { $0.returnsChecksums }
    let digests = Lock(Digests())
    let headers = content.headers + [("x-amz-checksum-sha256", Data(sum).base64EncodedString())]
    func send(_ more: [(name: String, value: String)]) async throws -> S3Response {
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
    var response: S3Response?
    if !replacing {
      response = try await conditional(send)
      if response == nil { try await checkIsFree(key, in: bucket, before: .whole, credentials: credentials) }
    }
    let final = if let response { response } else { try await send([]) }
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

  /// Returns the properties of an object; `nil` if it does not exist.
  /// - Throws: ``UploadsError``; `CancellationError`.
  public func head(bucket: String, key: String, credentials: S3Credentials) async throws -> StoredObject? {
    do {
      return try await headOnce(bucket: bucket, key: key, credentials: credentials)
    } catch let error as UploadsError where error.code == .forbidden && error.serverCode == nil {
      // Without a body the response names no reason: a wrong secret is no missing permission.
      if let reason = try await reasonOfRefusal(bucket: bucket, key: key, credentials: credentials) { throw reason }
      // The other request is permitted, perhaps because its response has named the bucket's region.
      return try await headOnce(bucket: bucket, key: key, credentials: credentials)
    }
  }

  private func headOnce(bucket: String, key: String, credentials: S3Credentials) async throws -> StoredObject? {
    let request = endpoint.request(
      "HEAD", bucket: bucket, key: key, headers: [("x-amz-checksum-mode", "ENABLED")])
    do {
      let response = try await perform(request, bucket: bucket, credentials: credentials)
      guard let size = response.headers["content-length"].flatMap(Int64.init) else {
        throw UploadsError(
          .unexpectedResponse, "the response to HEAD \(key) has no Content-Length", status: response.status)
      }
      return try Self.stored(response, size: size, "HEAD")
    } catch let error as UploadsError where error.code == .notFound {
      return nil
    }
  }

  /// Asks for the first byte of an object, to learn why a look at it is refused.
  /// - Returns: `nil` if this request is not refused, or the object does not exist.
  private func reasonOfRefusal(bucket: String, key: String, credentials: S3Credentials) async throws -> UploadsError? {
    let request = endpoint.request("GET", bucket: bucket, key: key, headers: [("Range", "bytes=0-0")])
    do {
      _ = try await perform(request, bucket: bucket, credentials: credentials) { S3Progress(received: { _ in }) }
      return nil
    } catch let named as UploadsError where named.code == .notFound {
      return nil
    } catch let named as UploadsError where named.serverCode != nil {
      return named
    }
  }

  /// Reads an object and passes each piece of it to a closure.
  /// - Parameters:
  ///   - bucket: The bucket of the object.
  ///   - key: The key of the object.
  ///   - limit: The longest object that is read, in bytes; `nil` for any length.
  ///   - credentials: The credentials to sign with.
  ///   - onBytes: A closure that receives the pieces in order.
  /// - Returns: The length of the object in bytes.
  /// - Throws: ``UploadsError``; with code `.interrupted` if the response is truncated, `.unexpectedResponse` if it is
  ///   longer than the limit; `CancellationError`.
  @discardableResult public func get(
    bucket: String, key: String, limit: Int64? = nil, credentials: S3Credentials,
    _ onBytes: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
  ) async throws -> Int64 {
    let count = Lock<Int64>(0)
    let request = endpoint.request("GET", bucket: bucket, key: key)
    let response = try await perform(request, bucket: bucket, credentials: credentials) {
      S3Progress(
        received: { bytes in
          count.withLock { $0 += Int64(bytes.count) }
          onBytes(bytes)
        }, receivedLimit: limit)
    }
    let length = count.withLock { $0 }
    guard response.headers["content-length"].flatMap(Int64.init) ?? length == length else {
      throw UploadsError(.interrupted, "the response to GET \(key) was truncated")
    }
    return length
  }

  /// Deletes an object; an object that does not exist is no error.
  /// - Throws: ``UploadsError``; `CancellationError`.
  public func delete(bucket: String, key: String, credentials: S3Credentials) async throws {
    _ = try await perform(
      endpoint.request("DELETE", bucket: bucket, key: key), bucket: bucket, credentials: credentials)
  }

  /// Returns a page of the objects in a bucket, in order of their keys.
  /// - Parameters:
  ///   - bucket: The bucket to list.
  ///   - prefix: The prefix of the keys to list; empty for all.
  ///   - token: The ``ObjectPage/next`` of the previous page; `nil` for the first page.
  ///   - limit: The largest number of objects, 1 to 1000.
  ///   - credentials: The credentials to sign with.
  /// - Throws: ``UploadsError``; `CancellationError`.
  public func list(
    bucket: String, prefix: String = "", after token: String? = nil, limit: Int = 1000, credentials: S3Credentials
  ) async throws -> ObjectPage {
    var query = [
      ("list-type", "2"), ("prefix", prefix), ("encoding-type", "url"), ("max-keys", "\(min(max(limit, 1), 1000))"),
    ]
    if let token { query.append(("continuation-token", token)) }
    let request = endpoint.request("GET", bucket: bucket, query: query.map { (name: $0.0, value: $0.1) })
    let response = try await perform(request, bucket: bucket, credentials: credentials)
    let root = try Self.document(
      response, having: ["IsTruncated", "KeyCount", "Contents", "Name"], request)
    let isEncoded = root["EncodingType"] == "url"
    let entries = try root.all("Contents").map { item in
      guard let raw = item["Key"], let key = isEncoded ? raw.keyDecoded : raw,
        let size = item["Size"].flatMap(Int64.init)
      else {
        throw UploadsError(.unexpectedResponse, "the list of \(bucket) contains an object without a key or a size")
      }
      return ObjectPage.Entry(key: key, size: size, etag: (item["ETag"] ?? "").unquoted)
    }
    return ObjectPage(entries: entries, next: root["IsTruncated"] == "true" ? root["NextContinuationToken"] : nil)
  }

  /// Returns a URL at which an object can be read without credentials, for a limited time.
  /// - Parameters:
  ///   - bucket: The bucket of the object.
  ///   - key: The key of the object.
  ///   - lifetime: The lifetime of the URL in seconds, 1 to 604,800.
  ///   - credentials: The credentials to sign with; the URL permits what they permit.
  ///   - seconds: The Unix time at which the lifetime starts.
  /// - Throws: ``UploadsError`` with code `.invalidArgument` if the lifetime is out of range.
  public func presignedGet(
    bucket: String, key: String, lifetime: Int, credentials: S3Credentials, at seconds: Int64
  ) throws(UploadsError) -> String {
    let region = region(of: bucket, credentials)
    var request = endpoint.request("GET", bucket: bucket, key: key)
    request.authority = endpoint.authority(of: request, in: region)
    return try RequestSigner(credentials, region: region).presignedURL(for: request, lifetime: lifetime, at: seconds)
  }

  static func stored(_ response: S3Response, size: Int64, _ method: String) throws -> StoredObject {
    guard let etag = response.headers["etag"]?.unquoted, !etag.isEmpty else {
      throw UploadsError(
        .unexpectedResponse, "the response to \(method) has status \(response.status) and no ETag: not an S3 server",
        status: response.status)
    }
    let encryption = response.headers["x-amz-server-side-encryption"] ?? ""
    return StoredObject(
      size: size, etag: etag, checksum: response.headers["x-amz-checksum-sha256"],
      claimedSHA256: response.headers["x-amz-meta-\(ObjectContent.checksumName)"],
      isEncrypted: encryption.hasPrefix("aws:kms")
        || response.headers["x-amz-server-side-encryption-customer-algorithm"] != nil)
  }

  /// Returns the root element of a response, which must have one of these elements; an error may have status 200.
  ///
  /// The name of the root does not matter: servers call it differently.
  static func document(
    _ response: S3Response, having names: [String], _ request: S3Request
  ) throws -> XMLElement {
    guard let root = XMLElement(response.body) else {
      throw UploadsError(
        .unexpectedResponse, "the response to \(request.method) \(request.path) is no complete XML document")
    }
    if root.name == "Error" {
      throw UploadsError(status: response.status, error: root, hasBody: true, to: request)
    }
    guard names.contains(where: { root[$0] != nil }) else {
      throw UploadsError(
        .unexpectedResponse,
        "the response to \(request.method) \(request.path) is a \(root.name) without \(names.joined(separator: ", "))")
    }
    return root
  }

  static func changed(_ content: ObjectContent) -> UploadsError {
    UploadsError(.fileChanged, "\(content.path) has changed since it was queued")
  }

  static func differs(_ key: String) -> UploadsError {
    UploadsError(.corrupted, "the server has other bytes as \(key) than were sent")
  }
}

extension StoredObject {
  /// The MD5 of the content, in hexadecimal, if the ETag is one.
  var md5: String? {
    isEncrypted ? nil : [UInt8](hex: etag)?.count == 16 ? etag.lowercased() : nil
  }
}

extension String {
  var unquoted: String {
    hasPrefix("\"") && hasSuffix("\"") && count >= 2 ? String(dropFirst().dropLast()) : self
  }

  /// The key that a response with `encoding-type=url` contains.
  var keyDecoded: String? { replacing("+", with: " ").removingPercentEncoding }
}
