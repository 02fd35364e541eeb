internal import FoundationEssentials
internal import Streams

/// A part of a multipart upload that the server has, as recorded for the next attempt.
public struct UploadedPart: Sendable, Hashable, Codable {
  /// The number of the part, 1 to 10,000.
  public var number: Int
  /// The length of the part in bytes.
  public var size: Int64
  /// The SHA-256 of the part, in hexadecimal.
  public var sha256: String
  /// The ETag that the server returned for the part.
  public var etag: String
  /// A Boolean value that indicates whether the server returned the part's SHA-256.
  public var hasChecksum: Bool
  /// A Boolean value that indicates whether the server has shown the part's SHA-256 or MD5; `nil` in records of version
  /// 0.1.0.
  var isCompared: Bool?
}

/// The multipart upload of an object that is in progress.
struct MultipartUpload: Sendable, Hashable {
  /// The server's ID of the upload.
  let id: String
  let bucket: String
  let key: String
}

/// A multipart upload on the server that is not complete.
public struct UnfinishedUpload: Sendable, Hashable {
  /// The key of the object to be created.
  public var key: String
  /// The server's ID of the upload.
  public var uploadID: String
  /// The time at which the upload was created, in Unix milliseconds by the server's clock.
  public var startedAtMs: Int64
}

extension S3Client {
  /// Creates a multipart upload.
  func createMultipart(
    _ content: ObjectContent, bucket: String, key: String, credentials: S3Credentials
  ) async throws -> MultipartUpload {
    let request = endpoint.request(
      "POST", bucket: bucket, key: key, query: [("uploads", "")],
      headers: content.headers + [("x-amz-checksum-algorithm", "SHA256")])
    let response = try await perform(request, bucket: bucket, credentials: credentials)
    let root = try Self.document(response, having: ["UploadId"], request)
    guard let id = root["UploadId"], (1...4096).contains(id.utf8.count) else {
      throw UploadsError(.unexpectedResponse, "the server created a multipart upload and returned no ID of it")
    }
    return MultipartUpload(id: id, bucket: bucket, key: key)
  }

  /// Sends one part.
  /// - Parameters:
  ///   - slice: The part of the file.
  ///   - number: The number of the part, 1 to 10,000.
  ///   - sum: The SHA-256 of the part.
  ///   - upload: The multipart upload.
  ///   - credentials: The credentials to sign with.
  ///   - onProgress: A closure that receives the number of bytes passed to the connection.
  func uploadPart(
    _ slice: FileSlice, number: Int, sum: [UInt8], of upload: MultipartUpload, credentials: S3Credentials,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws -> UploadedPart {
    let checksum = Data(sum).base64EncodedString()
    let request = endpoint.request(
      "PUT", bucket: upload.bucket, key: upload.key,
      query: [("partNumber", "\(number)"), ("uploadId", upload.id)],
      headers: [("x-amz-checksum-sha256", checksum)], body: .file(slice))
    let digests = Lock(Digests())
    let isProven = learned.withLock { $0.returnsChecksums }
    let response = try await perform(request, bucket: upload.bucket, payload: sum.hex, credentials: credentials) {
      digests.withLock { $0 = Digests() }
      return S3Progress(sent: { bytes in
        if !isProven { digests.withLock { $0.add(bytes) } }
        onProgress(bytes.count)
      })
    }
    let stored = try Self.stored(response, size: slice.length, "PUT")
    learned.withLock { $0.returnsChecksums = stored.checksum != nil }
    // An encrypted part has an ETag that may look like an MD5, and says nothing.
    let isCompared = stored.checksum != nil || stored.md5 != nil
    if let returned = stored.checksum {
      guard returned == checksum else { throw Self.differs("part \(number) of \(upload.key)") }
    } else {
      // A server that returned checksums before and returns none now is not trusted: the part is read again.
      let sent = isProven ? try Digests(of: slice) : digests.withLock { $0 }
      guard sent.sha256 == sum else { throw UploadsError(.fileChanged, "\(slice.path) changed while it was sent") }
      if let md5 = stored.md5, md5 != sent.md5.hex { throw Self.differs("part \(number) of \(upload.key)") }
    }
    return UploadedPart(
      number: number, size: slice.length, sha256: sum.hex, etag: stored.etag, hasChecksum: stored.checksum != nil,
      isCompared: isCompared)
  }

  /// Completes the object from its parts.
  /// - Returns: The object's ETag.
  /// - Throws: ``UploadsError``; with code `.alreadyExists` if the object exists and must not be replaced.
  func completeMultipart(
    _ parts: [UploadedPart], of upload: MultipartUpload, replacing: Bool, credentials: S3Credentials
  ) async throws -> String {
    let etag = Lock("")
    func send(_ headers: [(name: String, value: String)]) async throws -> S3Response {
      let response = try await sendCompletion(parts, of: upload, headers, credentials: credentials)
      etag.withLock { $0 = (XMLElement(response.body)?["ETag"] ?? "").unquoted.lowercased() }
      return response
    }
    if !replacing {
      // Sending the parts took a while, and not every server keeps the condition here that it keeps elsewhere.
      try await checkIsFree(upload.key, in: upload.bucket, before: .parts, credentials: credentials)
      if try await conditional(beside: "POST", send) != nil { return etag.withLock { $0 } }
    }
    _ = try await send([])
    return etag.withLock { $0 }
  }

  /// Sends the request that completes the object from its parts.
  /// - Returns: The response, which has an ETag or a location.
  func sendCompletion(
    _ parts: [UploadedPart], of upload: MultipartUpload, _ headers: [(name: String, value: String)],
    credentials: S3Credentials
  ) async throws -> S3Response {
    let elements = parts.map { part in
      let sum = part.hasChecksum ? [UInt8](hex: part.sha256).map { Data($0).base64EncodedString() } : nil
      return "<Part><PartNumber>\(part.number)</PartNumber><ETag>&quot;\(part.etag.xmlEscaped)&quot;</ETag>"
        + (sum.map { "<ChecksumSHA256>\($0)</ChecksumSHA256>" } ?? "") + "</Part>"
    }
    let body = Data(
      ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        + elements.joined() + "</CompleteMultipartUpload>").utf8)
    let request = endpoint.request(
      "POST", bucket: upload.bucket, key: upload.key, query: [("uploadId", upload.id)],
      headers: [("Content-Type", "application/xml")] + headers, body: .bytes(body))
    let payload = Digests(of: body).sha256.hex
    let response = try await perform(request, bucket: upload.bucket, payload: payload, credentials: credentials)
    _ = try Self.document(response, having: ["ETag", "Location"], request)
    return response
  }

  /// Aborts a multipart upload; an unknown one is no error.
  /// - Throws: ``UploadsError``; `CancellationError`.
  public func abortMultipart(
    _ uploadID: String, bucket: String, key: String, credentials: S3Credentials
  ) async throws {
    let request = endpoint.request("DELETE", bucket: bucket, key: key, query: [("uploadId", uploadID)])
    do {
      _ = try await perform(request, bucket: bucket, credentials: credentials)
    } catch let error as UploadsError where error.code == .notFound {
      // The server has already removed it.
    }
  }

  /// Returns the multipart uploads in a bucket that are not complete, at most 100,000.
  /// - Parameters:
  ///   - bucket: The bucket to list.
  ///   - prefix: The prefix of the keys to list; empty for all.
  ///   - credentials: The credentials to sign with.
  /// - Throws: ``UploadsError``; `CancellationError`.
  public func unfinishedUploads(
    bucket: String, prefix: String = "", credentials: S3Credentials
  ) async throws -> [UnfinishedUpload] {
    var uploads: [UnfinishedUpload] = []
    var markers: [(name: String, value: String)] = []
    for _ in 0..<Self.unfinishedPages {
      let request = endpoint.request(
        "GET", bucket: bucket, query: [("uploads", ""), ("prefix", prefix), ("encoding-type", "url")] + markers)
      let response = try await perform(request, bucket: bucket, credentials: credentials)
      let root = try Self.document(
        response, having: ["IsTruncated", "Upload", "Bucket", "MaxUploads"], request)
      let isEncoded = root["EncodingType"] == "url"
      uploads += try root.all("Upload").map { item in
        guard let raw = item["Key"], let key = isEncoded ? raw.keyDecoded : raw, let id = item["UploadId"],
          let started = item["Initiated"].flatMap(Self.milliseconds)
        else {
          throw UploadsError(.unexpectedResponse, "the list of uploads in \(bucket) lacks a key, an ID or a time")
        }
        return UnfinishedUpload(key: key, uploadID: id, startedAtMs: started)
      }
      guard root["IsTruncated"] == "true", let next = root["NextKeyMarker"], !next.isEmpty,
        let key = isEncoded ? next.keyDecoded : next
      else { break }
      markers = [("key-marker", key), ("upload-id-marker", root["NextUploadIdMarker"] ?? "")]
    }
    return uploads
  }

  /// The number of pages of a thousand uploads that are read; other clients may leave many.
  private static let unfinishedPages = 100

  /// Returns the Unix milliseconds of a time such as `2010-11-10T20:48:33.000Z`, with or without a fraction.
  static func milliseconds(_ text: String) -> Int64? {
    for fractions in [true, false] {
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: fractions)
      do {
        return Int64((try style.parse(text).timeIntervalSince1970 * 1000).rounded())
      } catch {
        // The text may have the other form.
      }
    }
    return nil
  }
}
