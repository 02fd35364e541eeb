internal import FoundationEssentials
internal import Streams

/// A part that a server has, as it is kept to go on later.
public struct UploadedPart: Sendable, Hashable, Codable {
  /// 1 to 10,000.
  public var number: Int
  /// Its length in bytes.
  public var size: Int64
  /// Its SHA-256, in hexadecimal.
  public var sha256: String
  /// What the server knows it by.
  public var etag: String
  /// Whether the server returned its SHA-256.
  public var hasChecksum: Bool
}

/// An upload in parts that was begun and is not complete.
public struct UnfinishedUpload: Sendable, Hashable {
  /// The key it is for.
  public var key: String
  /// What the server knows it by.
  public var uploadID: String
  /// When it was begun, in Unix milliseconds, by the server's clock.
  public var startedAtMs: Int64
}

extension S3Client {
  /// Begins an upload in parts.
  /// - Returns: what the server knows it by.
  func createMultipart(
    _ content: ObjectContent, bucket: String, key: String, credentials: S3Credentials
  ) async throws -> String {
    let request = endpoint.request(
      "POST", bucket: bucket, key: key, query: [("uploads", "")],
      headers: content.headers + [("x-amz-checksum-algorithm", "SHA256")])
    let answer = try await perform(request, bucket: bucket, credentials: credentials)
    let root = try Self.document(answer, "InitiateMultipartUploadResult", request)
    guard let id = root["UploadId"], (1...4096).contains(id.utf8.count) else {
      throw UploadsError(.unexpectedReply, "the server has begun an upload in parts and does not say which")
    }
    return id
  }

  /// Sends one part.
  /// - Parameter sum: its SHA-256.
  func uploadPart(
    _ slice: FileSlice, number: Int, sum: [UInt8], of uploadID: String, bucket: String, key: String,
    credentials: S3Credentials, onProgress: @escaping @Sendable (Int) -> Void
  ) async throws -> UploadedPart {
    let checksum = Data(sum).base64EncodedString()
    let request = endpoint.request(
      "PUT", bucket: bucket, key: key, query: [("partNumber", "\(number)"), ("uploadId", uploadID)],
      headers: [("x-amz-checksum-sha256", checksum)], body: .file(slice))
    let digests = Lock(Digests())
    let isProven = learned.withLock { $0.returnsChecksums }
    let answer = try await perform(request, bucket: bucket, payload: sum.hex, credentials: credentials) {
      digests.withLock { $0 = Digests() }
      return S3Progress(sent: { bytes in
        if !isProven { digests.withLock { $0.add(bytes) } }
        onProgress(bytes.count)
      })
    }
    let stored = try Self.stored(answer, size: slice.length, "PUT")
    learned.withLock { $0.returnsChecksums = stored.checksum != nil }
    if let returned = stored.checksum {
      guard returned == checksum else { throw Self.differs("part \(number) of \(key)") }
    } else {
      // A server that has shown checksums before and shows none now is not believed: what was sent is read again.
      let sent = isProven ? try Digests(of: slice) : digests.withLock { $0 }
      guard sent.sha256 == sum else { throw UploadsError(.fileChanged, "\(slice.path) changed while it was sent") }
      if let md5 = stored.md5, md5 != sent.md5.hex { throw Self.differs("part \(number) of \(key)") }
    }
    return UploadedPart(
      number: number, size: slice.length, sha256: sum.hex, etag: stored.etag, hasChecksum: stored.checksum != nil)
  }

  /// Makes one object of the parts.
  /// - Returns: the object's ETag.
  /// - Throws: ``UploadsError``; `.alreadyExists` when there is one and it must not be replaced.
  func completeMultipart(
    _ parts: [UploadedPart], of uploadID: String, bucket: String, key: String, replacing: Bool,
    credentials: S3Credentials
  ) async throws -> String {
    let elements = parts.map { part in
      let sum = part.hasChecksum ? [UInt8](hex: part.sha256).map { Data($0).base64EncodedString() } : nil
      return "<Part><PartNumber>\(part.number)</PartNumber><ETag>&quot;\(part.etag.xmlEscaped)&quot;</ETag>"
        + (sum.map { "<ChecksumSHA256>\($0)</ChecksumSHA256>" } ?? "") + "</Part>"
    }
    let body = Data(
      ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        + elements.joined() + "</CompleteMultipartUpload>").utf8)
    let payload = Digests(of: body).sha256.hex
    let etag = Lock("")
    func send(_ headers: [(name: String, value: String)]) async throws -> S3Answer {
      let request = endpoint.request(
        "POST", bucket: bucket, key: key, query: [("uploadId", uploadID)],
        headers: [("Content-Type", "application/xml")] + headers, body: .bytes(body))
      let answer = try await perform(request, bucket: bucket, payload: payload, credentials: credentials)
      let root = try Self.document(answer, "CompleteMultipartUploadResult", request)
      etag.withLock { $0 = (root["ETag"] ?? "").unquoted.lowercased() }
      return answer
    }
    if !replacing {
      if try await conditional(send) != nil { return etag.withLock { $0 } }
      if try await head(bucket: bucket, key: key, credentials: credentials) != nil {
        throw UploadsError(.alreadyExists, "there is an object \(key) already")
      }
    }
    _ = try await send([])
    return etag.withLock { $0 }
  }

  /// Has the server forget an upload in parts; one that it does not know is no error.
  public func abortMultipart(
    _ uploadID: String, bucket: String, key: String, credentials: S3Credentials
  ) async throws {
    let request = endpoint.request("DELETE", bucket: bucket, key: key, query: [("uploadId", uploadID)])
    do {
      _ = try await perform(request, bucket: bucket, credentials: credentials)
    } catch let error as UploadsError where error.code == .notFound {
      // That is what was wanted.
    }
  }

  /// The uploads in parts that were begun and are not complete; of very many, the first hundred thousand.
  /// - Parameters:
  ///   - bucket: which bucket.
  ///   - prefix: how their keys begin.
  ///   - credentials: who asks.
  public func unfinishedUploads(
    bucket: String, prefix: String = "", credentials: S3Credentials
  ) async throws -> [UnfinishedUpload] {
    var (uploads, markers) = ([UnfinishedUpload](), [(name: String, value: String)]())
    for _ in 0..<Self.unfinishedPages {
      let request = endpoint.request(
        "GET", bucket: bucket, query: [("uploads", ""), ("prefix", prefix), ("encoding-type", "url")] + markers)
      let answer = try await perform(request, bucket: bucket, credentials: credentials)
      let root = try Self.document(answer, "ListMultipartUploadsResult", request)
      let isEncoded = root["EncodingType"] == "url"
      uploads += try root.all("Upload").map { item in
        guard let raw = item["Key"], let key = isEncoded ? raw.keyDecoded : raw, let id = item["UploadId"],
          let started = item["Initiated"].flatMap(Self.milliseconds)
        else { throw UploadsError(.unexpectedReply, "the list of uploads in \(bucket) cannot be understood") }
        return UnfinishedUpload(key: key, uploadID: id, startedAtMs: started)
      }
      guard root["IsTruncated"] == "true", let next = root["NextKeyMarker"], !next.isEmpty,
        let key = isEncoded ? next.keyDecoded : next
      else { break }
      markers = [("key-marker", key), ("upload-id-marker", root["NextUploadIdMarker"] ?? "")]
    }
    return uploads
  }

  /// How many pages of a thousand uploads are looked at: somebody else's may be many.
  private static let unfinishedPages = 100

  /// `2010-11-10T20:48:33.000Z`, with or without a fraction.
  static func milliseconds(_ text: String) -> Int64? {
    for fractions in [true, false] {
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: fractions)
      do {
        return Int64((try style.parse(text).timeIntervalSince1970 * 1000).rounded())
      } catch {
        // The other way, or none.
      }
    }
    return nil
  }
}
