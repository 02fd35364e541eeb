internal import ErrorReporting
internal import FoundationEssentials

extension UploadQueue {
  /// The time for which lines of manifests are collected before they are written: 5 s, or ten times the duration of the
  /// last write up to 5 min, so that a slow connection is left to the items.
  static let manifestDelay = Duration.seconds(5)
  private static let longestManifestDelay = Duration.seconds(300)
  /// The number of attempts to write a manifest that another host changes between our read and our write.
  private static let manifestAttempts = 5

  /// Adds uploaded objects to their manifests, with a delay, and those that an earlier process left.
  func keepManifests() async {
    var cost = Duration.zero
    for await _ in manifestWake.signals {
      var failures = 0
      repeat {
        let delay =
          failures == 0
          ? min(max(Self.manifestDelay, cost * 10), Self.longestManifestDelay)
          : QueueMachine.backoff.delay(afterFailures: failures, random: options.random())
        do { try await clock.sleep(for: delay) } catch { return }
        let start = clock.now
        failures = await writeManifests() ? 0 : failures + 1
        cost = clock.now - start
      } while failures > 0
    }
  }

  /// Writes all manifests that lack lines.
  /// - Returns: `true` if all are complete.
  private func writeManifests() async -> Bool {
    var isComplete = true
    var problem: String?
    do {
      for manifest in try store.unwrittenManifests(at: client.endpoint.url) {
        // The items find out when the server is reachable and the credentials are accepted again.
        guard !machine.isOffline, !machine.lacksCredentials(manifest.account),
          let credentials = accounts[manifest.account]?.current
        else {
          isComplete = false
          continue
        }
        do {
          while case let lines = try store.lines(of: manifest), let last = lines.last {
            try await write(lines.map(\.text), into: manifest, credentials)
            try store.forgetLines(of: manifest, through: last.id)
          }
        } catch is CancellationError {
          return false
        } catch {
          // The next one may succeed.
          noteRefusal(error, of: manifest.account)
          problem = "write the manifest \(manifest.key): \(error.safeText)"
        }
      }
    } catch {
      problem = error.safeText
    }
    report.manifestProblem = problem
    if let problem { logger.warning("manifests not written", metadata: ["reason": "\(problem)"]) }
    return isComplete && problem == nil
  }

  private func write(
    _ lines: [String], into manifest: UnwrittenManifest, _ credentials: S3Credentials
  ) async throws {
    let bucket = manifest.bucket
    let key = manifest.key
    for _ in 0..<Self.manifestAttempts {
      let known = try await client.head(bucket: bucket, key: key, credentials: credentials)
      var present = Data()
      if let known {
        guard known.size <= Manifest.sizeLimit else { throw Self.tooLarge(key, Int64(known.size)) }
        present = try await client.bytes(bucket: bucket, key: key, credentials: credentials)
      }
      var contents = Manifest(present)
      for line in lines { contents.add(line) }
      let data = contents.data
      // Written by a process that stopped before it could record that.
      if known != nil, data == present { return }
      guard data.count <= Manifest.sizeLimit else { throw Self.tooLarge(key, Int64(data.count)) }
      let isDone = try await client.put(
        data, contentType: Manifest.contentType, over: known?.etag, bucket: bucket, key: key, credentials: credentials)
      if isDone { return }
    }
    throw UploadsError(.busy, "other hosts changed \(key) during \(Self.manifestAttempts) attempts to write it")
  }

  private static func tooLarge(_ key: String, _ size: Int64) -> UploadsError {
    UploadsError(
      .refused, "the manifest \(key) has \(size) bytes; allowed: \(Manifest.sizeLimit)",
      hint: "list fewer objects in one manifest")
  }
}
