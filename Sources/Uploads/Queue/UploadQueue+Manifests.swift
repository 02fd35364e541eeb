internal import FoundationEssentials

extension UploadQueue {
  /// How long lines for manifests are collected before they are written: 5 s, and ten times as long as it took to write
  /// them the last time, up to 5 min. A slow way to the server is for the items.
  static let manifestPause = Duration.seconds(5)
  private static let longestManifestPause = Duration.seconds(300)
  /// How often somebody else may write a manifest between our reading and writing it, before it is left for later.
  private static let manifestTries = 5

  /// Brings into manifests what the server has, a while after it has it, and what an earlier program has left.
  func keepManifests() async {
    var cost = Duration.zero
    for await _ in manifestBell.stream {
      var failures = 0
      repeat {
        let pause =
          failures == 0
          ? min(max(Self.manifestPause, cost * 10), Self.longestManifestPause)
          : RetryDelay.after(failures: failures, random: random())
        do { try await clock.sleep(for: pause) } catch { return }
        let begin = clock.now
        failures = await writeManifests() ? 0 : failures + 1
        cost = clock.now - begin
      } while failures > 0
    }
  }

  /// Writes all manifests that lack something.
  /// - Returns: whether nothing is left to do.
  private func writeManifests() async -> Bool {
    var (isComplete, problem): (Bool, String?) = (true, nil)
    do {
      for manifest in try store.unwrittenManifests() {
        // What nobody can reach, or may not, is found out by the items; nobody else need try.
        guard !machine.isOffline, !machine.lacksCredentials(manifest.account),
          let credentials = keepers[manifest.account]?.current
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
          // Others may be more fortunate.
          problem = "the manifest \(manifest.key) cannot be written: \(error)"
        }
      }
    } catch {
      problem = "\(error)"
    }
    manifestProblem = problem
    if let problem { logger.warning("\(problem)") }
    return isComplete && problem == nil
  }

  private func write(
    _ lines: [String], into manifest: UnwrittenManifest, _ credentials: S3Credentials
  ) async throws {
    let (bucket, key) = (manifest.bucket, manifest.key)
    for _ in 0..<Self.manifestTries {
      let known = try await client.head(bucket: bucket, key: key, credentials: credentials)
      var present = Data()
      if let known {
        guard known.size <= Manifest.sizeLimit else { throw Self.tooLarge(key) }
        present = try await client.bytes(bucket: bucket, key: key, credentials: credentials)
      }
      var contents = Manifest(present)
      for line in lines { contents.add(line) }
      let data = contents.data
      // Written by a program that ended before it could note that.
      if known != nil, data == present { return }
      guard data.count <= Manifest.sizeLimit else { throw Self.tooLarge(key) }
      let isDone = try await client.put(
        data, contentType: Manifest.contentType, over: known?.etag, bucket: bucket, key: key, credentials: credentials)
      if isDone { return }
    }
    throw UploadsError(.busy, "others write it all the time")
  }

  private static func tooLarge(_ key: String) -> UploadsError {
    UploadsError(
      .refused, "it would have more than \(Manifest.sizeLimit) bytes", hint: "list fewer objects in one manifest")
  }
}
