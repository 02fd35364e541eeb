import AudioIngest
import DurableFiles
import Foundation

/// The file that a command writes the transcript of a segment to. It becomes the transcript, which any program that
/// uploads may queue at once, when the command has succeeded.
struct TranscriptDraft: Sendable {
  /// The absolute path, which ends in `.txt`, and whose file name begins with a dot.
  ///
  /// It has the number of this process: a command may outlive a recorder that was killed, and the next recorder runs it
  /// again. What is left of earlier ones is removed by `SegmentFolder.recover(report:)`.
  let path: String
  private let wav: String
  private let transcript: String
  private let folder: String
  private let disk: Disk

  init(of segment: FinishedSegment, on disk: Disk = Disk()) {
    self.disk = disk
    wav = SegmentRequests.absolute(segment.path)
    transcript = SegmentRequests.absolute(segment.transcriptPath)
    folder = URL(filePath: wav).deletingLastPathComponent().path(percentEncoded: false)
    path = folder + ".\(segment.info.name).\(ProcessInfo.processInfo.processIdentifier).txt"
  }

  /// Makes what the command has written the transcript, durably.
  ///
  /// An existing transcript stays, because it may be on its way to a server. Without the segment, which may have been
  /// removed for space, there is nothing that it would be the transcript of.
  /// - Throws: `FileError`, also if anything but a file is there.
  func publish() throws(FileError) {
    guard try disk.exists(path) else { return }
    guard try disk.exists(wav), try !disk.exists(transcript) else { return try remove() }
    try GrowingFile(path, on: disk, isContinued: true).sync()
    try disk.rename(path, to: transcript)
    try disk.sync(folder: folder)
  }

  /// Removes what the command has written, if anything.
  func remove() throws(FileError) { try disk.remove(tree: path) }
}
