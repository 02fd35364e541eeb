internal import Crypto
internal import FoundationEssentials
internal import Streams

/// Brings one item to the server, in as many requests as it takes, and proves that it is there.
struct ItemUploader: Sendable {
  let client: S3Client
  let store: QueueStore
  let plan: UploadPlan
  let item: UploadItem
  let credentials: S3Credentials
  /// How many of its parts may be under way at once; asked again whenever one has arrived.
  let partsAtOnce: @Sendable () -> Int
  /// How many bytes of the item the server has, or is being sent.
  let onProgress: @Sendable (Int64) -> Void

  private var request: UploadRequest { item.request }
  private var content: ObjectContent { item.request.content }

  /// Uploads it.
  /// - Parameter mayBeThere: whether an earlier attempt may have succeeded without our knowing.
  /// - Throws: ``UploadsError``, `CancellationError`.
  func run(mayBeThere: Bool) async throws {
    var replacing = request.isReplacing
    if mayBeThere || item.attempts > 0 || item.uploadID != nil {
      switch try await presence() {
      case .same: return
      case .absent: break
      // What lies there was meant to be this: an upload of ours went wrong.
      case .different(isOurs: true): replacing = true
      case .different(isOurs: false):
        guard replacing else { throw Self.taken(request.key) }
      }
    }
    do {
      try checkFile()
    } catch let error as UploadsError where error.code == .fileMissing {
      // Removed when it was delivered, which could not be noted.
      guard try await presence() == .same else { throw error }
      return
    }
    do {
      try await send(replacing: replacing)
    } catch let error as UploadsError where error.code == .alreadyExists && !replacing {
      // The reply to the upload that made it may have been lost.
      switch try await presence() {
      case .same: return
      case .absent: throw UploadsError(.busy, "\(request.key) was there a moment ago")
      case .different(isOurs: true): try await send(replacing: true)
      case .different(isOurs: false): throw Self.taken(request.key)
      }
    }
  }

  private func presence() async throws -> ObjectPresence {
    try await client.presence(
      of: content, plan: plan, bucket: request.bucket, key: request.key, credentials: credentials)
  }

  /// A file that is not the one that was queued is not sent.
  private func checkFile() throws {
    guard try FileReading.length(of: content.path) == content.size else { throw S3Client.changed(content) }
    guard try Fingerprint.of(content.path) != item.fingerprint || item.failure != nil else { return }
    // Copied back, touched, or refused by the server as not what was announced: its bytes decide.
    var sha = Crypto.SHA256()
    try FileReading.read(FileSlice(path: content.path, length: content.size)) { sha.update(bufferPointer: $0) }
    guard sha.finalize().hex == content.sha256 else { throw S3Client.changed(content) }
  }

  private func send(replacing: Bool) async throws {
    let parts = plan.parts(of: content.size)
    guard !parts.isEmpty else {
      let sent = Lock<Int64>(0)
      return try await client.put(
        content, bucket: request.bucket, key: request.key, replacing: replacing, credentials: credentials
      ) { count in
        onProgress(
          sent.withLock {
            $0 += Int64(count); return $0
          })
      }
    }
    do {
      try await send(parts, replacing: replacing)
    } catch let error as UploadsError where error.serverCode == "NoSuchUpload" {
      try note(nil, [])
      throw UploadsError(.interrupted, "the server has forgotten the parts it had of \(request.key)")
    }
  }

  /// Sends the parts that the server does not have yet.
  private func send(_ ranges: [Range<Int64>], replacing: Bool) async throws {
    // First: for a file that is not what was queued nothing is begun on the server.
    let sums = try content.sums(of: ranges, length: plan.partLength(for: content.size))
    let uploadID: String
    var known: [Int: UploadedPart] = [:]
    if let begun = item.uploadID {
      uploadID = begun
      for part in item.parts where ranges.indices.contains(part.number - 1) {
        let range = ranges[part.number - 1]
        guard part.size == range.upperBound - range.lowerBound, part.sha256 == sums[part.number - 1].hex else {
          continue
        }
        known[part.number] = part
      }
    } else {
      uploadID = try await client.createMultipart(
        content, bucket: request.bucket, key: request.key, credentials: credentials)
      try note(uploadID, [])
    }
    let parts = try await sendParts(ranges, sums, known, of: uploadID)
    let etag = try await client.completeMultipart(
      parts, of: uploadID, bucket: request.bucket, key: request.key, replacing: replacing, credentials: credentials)
    // Every part was compared; that the whole is made of these parts is what is left to show.
    let etags = parts.compactMap { [UInt8](hex: $0.etag) }
    let isShown = etags.count == parts.count && etag == Digests.md5(of: etags.flatMap { $0 }).hex + "-\(parts.count)"
    if isShown { return }
    guard try await presence() == .same else { throw S3Client.differs(request.key) }
  }

  /// Sends the parts that are not known, as many at once as may be, and notes each.
  /// - Returns: all parts, in order.
  private func sendParts(
    _ ranges: [Range<Int64>], _ sums: PartSums, _ known: [Int: UploadedPart], of uploadID: String
  ) async throws -> [UploadedPart] {
    let done = Lock(known.values.reduce(0) { $0 + $1.size })
    return try await withThrowingTaskGroup(of: UploadedPart.self) { group in
      var parts = known
      var missing = ranges.indices.filter { known[$0 + 1] == nil }[...]
      var underWay = 0
      func sendNext() {
        guard let index = missing.popFirst() else { return }
        underWay += 1
        let range = ranges[index]
        let slice = FileSlice(path: content.path, offset: range.lowerBound, length: Int64(range.count))
        group.addTask {
          try await client.uploadPart(
            slice, number: index + 1, sum: sums[index], of: uploadID, bucket: request.bucket, key: request.key,
            credentials: credentials
          ) { count in
            // Within: told in the order in which it grows.
            done.withLock {
              $0 += Int64(count)
              onProgress($0)
            }
          }
        }
      }
      repeat {
        while !missing.isEmpty, underWay < max(partsAtOnce(), 1) { sendNext() }
        guard let part = try await group.next() else { break }
        underWay -= 1
        parts[part.number] = part
        try note(uploadID, parts.values.sorted { $0.number < $1.number })
      } while underWay > 0 || !missing.isEmpty
      return parts.values.sorted { $0.number < $1.number }
    }
  }

  /// Notes the parts that the server has, so that the next attempt goes on after them. On a full disk it does not.
  private func note(_ uploadID: String?, _ parts: [UploadedPart]) throws(UploadsError) {
    do {
      try store.note(item.id, uploadID: uploadID, parts: parts)
    } catch let error where error.code == .noSpace {
      // Uploading is what makes room. What is forgotten of the server's parts is swept up.
    }
  }

  private static func taken(_ key: String) -> UploadsError {
    UploadsError(
      .alreadyExists, "another object is there as \(key)", hint: "drop the item and queue it under another key")
  }
}
