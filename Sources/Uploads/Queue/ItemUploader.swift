internal import Crypto
internal import FoundationEssentials
internal import Streams
internal import Timing

/// One attempt to upload an item, in one request or in parts, until the server has proven that it has the bytes.
struct ItemUploader: Sendable {
  let client: S3Client
  let store: QueueStore
  let plan: UploadPlan
  let item: UploadItem
  let credentials: S3Credentials
  /// Learns of the item's bytes and parts, and of the line, and decides how many parts are sent at a time.
  let progress: UploadProgress
  let clock: TimeSource
  /// Called when an upload in parts is to be aborted, because its item is no longer one of this server.
  let hasAbandoned: @Sendable () -> Void

  /// The time for which an attempt that is cancelled waits for the ID of an upload that the server creates: 5 s.
  private static let creationGrace = Duration.seconds(5)
  /// The largest object that S3 takes in one request (Amazon S3 User Guide, “Uploading objects”): 5 GiB.
  private static let wholeLimit: Int64 = 5 << 30

  private var request: UploadRequest { item.request }
  private var content: ObjectContent { item.request.content }

  /// Uploads the item, unless the server has it.
  /// - Throws: ``UploadsError``, `CancellationError`.
  func run() async throws {
    var replacing = request.isReplacing
    // Always: an earlier attempt may have stored it, and a server may ignore the condition beside the upload.
    let first = try await firstPresence()
    switch first {
    case .same: return
    case .absent, nil: break
    // The object was meant to be this one: an upload of ours went wrong.
    case .different(isOurs: true): replacing = true
    case .different(isOurs: false):
      guard replacing else { throw Self.exists(request.key) }
    }
    do {
      try checkFile()
    } catch let error as UploadsError where error.code == .fileMissing {
      // Removed after delivery, which could not be recorded.
      guard try await presence() == .same else { throw error }
      return
    }
    let parts = try parts(areUnseen: first == nil && !replacing)
    do {
      try await send(parts, replacing: replacing)
    } catch let error as UploadsError where error.code == .alreadyExists && !replacing {
      // The response to the upload that created it may have been lost.
      switch try await presence() {
      case .same: return
      case .absent: throw UploadsError(.busy, "\(request.key) existed a moment ago and no longer does")
      case .different(isOurs: true): try await send(parts, replacing: true)
      case .different(isOurs: false): throw Self.exists(request.key)
      }
    }
    if !request.isReplacing, first != nil { try await lookAgain(parts.isEmpty ? .whole : .parts) }
  }

  /// Returns the parts to send; none for one request, in which a large file goes, too, where nobody may look whether an
  /// object exists and the server is not known to keep the condition on completing parts.
  private func parts(areUnseen: Bool) throws -> [Range<Int64>] {
    let parts = plan.parts(of: content.size)
    guard areUnseen, !parts.isEmpty, client.completion != .kept else { return parts }
    guard content.size <= Self.wholeLimit else {
      throw UploadsError(
        .forbidden,
        "the credentials do not permit to look whether \(request.key) exists, and the server might replace it",
        hint: "permit s3:GetObject, or add the item as one that may replace an object")
    }
    if item.uploadID != nil {
      try store.abandonUpload(of: item, at: client.endpoint.url)
      hasAbandoned()
    }
    return []
  }

  /// Looks for the object.
  /// - Returns: `nil` if the credentials do not permit to look: then the condition beside the upload must do.
  private func firstPresence() async throws -> ObjectPresence? {
    let isInParts = content.size >= plan.threshold
    do {
      let begin = clock.now
      let found = try await presence()
      // That there is none is the response to a small request. Others may have taken a look into the object.
      if found == .absent { progress.add(roundTrip: clock.now - begin) }
      return found
    } catch let error as UploadsError
      where error.code == .forbidden && (client.condition.mayBeKept || isInParts && client.completion == .kept)
    {
      return nil
    }
  }

  /// Looks whether the object is still this one, unless the server has shown that it replaces none by mistake.
  private func lookAgain(_ creation: S3Client.Creation) async throws {
    guard client.condition(creation) != .kept else { return }
    switch try await presence() {
    case .same: return
    // The next attempt sends it again: what was proven a moment ago is not there.
    case .different(isOurs: true): throw S3Client.differs(request.key)
    case .absent: throw UploadsError(.busy, "\(request.key) was uploaded, and is gone")
    case .different(isOurs: false): throw Self.exists(request.key)
    }
  }

  private func presence() async throws -> ObjectPresence {
    try await client.presence(
      of: content, plan: plan, bucket: request.bucket, key: request.key, credentials: credentials)
  }

  /// Refuses a file that is not the one that was queued.
  private func checkFile() throws {
    guard try FileReading.length(of: content.path) == content.size else { throw S3Client.changed(content) }
    guard try Fingerprint.of(content.path) != item.fingerprint || item.failure != nil else { return }
    // Copied back, touched, or refused by the server because of its checksum: the bytes decide.
    var sha = Crypto.SHA256()
    try FileReading.read(FileSlice(path: content.path, length: content.size)) { sha.update(bufferPointer: $0) }
    guard sha.finalize().hex == content.sha256 else { throw S3Client.changed(content) }
  }

  private func send(_ parts: [Range<Int64>], replacing: Bool) async throws {
    guard !parts.isEmpty else {
      let sent = Lock<Int64>(0)
      return try await client.put(
        content, bucket: request.bucket, key: request.key, replacing: replacing, credentials: credentials
      ) { count in
        let total = sent.withLock { sent in
          sent += Int64(count)
          return sent
        }
        progress.update(item.id, total)
      }
    }
    do {
      try await sendInParts(parts, replacing: replacing)
    } catch let error as UploadsError where error.serverCode == "NoSuchUpload" {
      try record(nil, [])
      throw UploadsError(.interrupted, "the server no longer has the parts of \(request.key)")
    }
  }

  /// Sends the parts that the server does not have yet, and completes the object.
  private func sendInParts(_ ranges: [Range<Int64>], replacing: Bool) async throws {
    // First: for a file that has changed, nothing is created on the server.
    let sums = try content.sums(of: ranges, length: plan.partLength(for: content.size))
    let upload: MultipartUpload
    var known: [Int: UploadedPart] = [:]
    if let id = item.uploadID {
      upload = MultipartUpload(id: id, bucket: request.bucket, key: request.key)
      for part in item.parts where ranges.indices.contains(part.number - 1) {
        let range = ranges[part.number - 1]
        guard part.size == range.upperBound - range.lowerBound, part.sha256 == sums[part.number - 1].hex else {
          continue
        }
        known[part.number] = part
      }
    } else {
      upload = try await createUpload()
    }
    let parts = try await sendParts(ranges, sums, known, of: upload)
    let etag = try await client.completeMultipart(
      parts, of: upload, replacing: replacing, credentials: credentials)
    // If every part was compared, the ETag proves that the object consists of these parts.
    let etags = parts.compactMap { $0.isCompared == true ? [UInt8](hex: $0.etag) : nil }
    let isProven = etags.count == parts.count && etag == Digests.md5(of: etags.flatMap { $0 }).hex + "-\(parts.count)"
    if isProven { return }
    guard try await presence() == .same else { throw S3Client.differs(request.key) }
  }

  /// Creates an upload in parts and records it, although the attempt is cancelled meanwhile: one that nobody knows would
  /// stay on the server.
  private func createUpload() async throws -> MultipartUpload {
    let creation = Task {
      let upload = try await client.createMultipart(
        content, bucket: request.bucket, key: request.key, credentials: credentials)
      try record(upload, [])
      return upload
    }
    let upload = try await withTaskCancellationHandler {
      try await creation.value
    } onCancel: {
      let end = Task {
        try await clock.sleep(for: Self.creationGrace)
        creation.cancel()
      }
      Task {
        _ = await creation.result
        end.cancel()
      }
    }
    try Task.checkCancellation()
    return upload
  }

  /// Sends the parts that are not known, several at a time, and records each.
  /// - Returns: All parts, in order.
  private func sendParts(
    _ ranges: [Range<Int64>], _ sums: PartSums, _ known: [Int: UploadedPart], of upload: MultipartUpload
  ) async throws -> [UploadedPart] {
    let done = Lock(known.values.reduce(0) { $0 + $1.size })
    return try await withThrowingTaskGroup(of: UploadedPart?.self) { group in
      var parts = known
      var missing = ranges.indices.filter { known[$0 + 1] == nil }[...]
      progress.wait(item.id, parts: missing.count)
      var inProgress = 0
      var failure: (any Error)?
      group.addTask { await pause() }
      while inProgress > 0 || failure == nil && !missing.isEmpty {
        while failure == nil, progress.beginPart(item.id), let index = missing.popFirst() {
          inProgress += 1
          group.addTask { try await sendPart(index + 1, ranges[index], sums[index], of: upload, after: done) }
        }
        do {
          guard let part = try await group.next() ?? nil else {
            if !Task.isCancelled { group.addTask { await pause() } }
            continue
          }
          parts[part.number] = part
          try record(upload, parts.values.sorted { $0.number < $1.number })
        } catch {
          // The other parts in progress are sent to their ends, so that the next attempt need not send them.
          failure = failure ?? error
        }
        inProgress -= 1
        progress.endPart(item.id)
      }
      group.cancelAll()
      if let failure { throw failure }
      return parts.values.sorted { $0.number < $1.number }
    }
  }

  /// Waits beside the parts: a request for a further one may become free while they are sent.
  private func pause() async -> UploadedPart? {
    do { try await clock.sleep(for: UploadQueue.lineInterval) } catch {
      // Cancelled, and so are the parts.
    }
    return nil
  }

  /// Sends a part and reports its bytes.
  /// - Parameter done: The bytes of the item that the server has or is being sent.
  private func sendPart(
    _ number: Int, _ range: Range<Int64>, _ sum: [UInt8], of upload: MultipartUpload, after done: Lock<Int64>
  ) async throws -> UploadedPart {
    let slice = FileSlice(path: content.path, offset: range.lowerBound, length: Int64(range.count))
    return try await client.uploadPart(slice, number: number, sum: sum, of: upload, credentials: credentials) { count in
      // Reported under the lock, so that the numbers only grow.
      done.withLock {
        $0 += Int64(count)
        progress.update(item.id, $0)
      }
    }
  }

  /// Records the parts that the server has, so that the next attempt continues after them; not on a full disk.
  /// - Throws: `CancellationError` if a user has dropped or moved the item.
  private func record(_ upload: MultipartUpload?, _ parts: [UploadedPart]) throws {
    do {
      if try store.record(item, at: client.endpoint.url, uploadID: upload?.id, parts: parts) { return }
    } catch let error where error.code == .noSpace {
      // Uploading is what frees space. Parts that no record names are swept from the server.
      return
    }
    hasAbandoned()
    throw CancellationError()
  }

  private static func exists(_ key: String) -> UploadsError {
    UploadsError(
      .alreadyExists, "another object exists as \(key)", hint: "drop the item and add it under another key")
  }
}
