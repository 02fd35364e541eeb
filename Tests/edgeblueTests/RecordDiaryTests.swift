import AudioIngest
import AudioIngestTesting
import AudioWearables
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

@Suite(
  "The recorders of one program", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .timeLimit(.minutes(5)))
struct RecordDiaryTests {
  private struct NoSink: SegmentSink {
    func take(_ segment: FinishedSegment) {}
  }

  @Test("A recorder that fails ends the program's recording, with its error") func aFailureEndsTheRecording()
    async throws
  {
    let lab = try await FakeRadio()
    let temporary = try TemporaryFolder()
    func recorder(_ name: String) throws -> (SegmentFolder, WearableRecorder) {
      let folder = try SegmentFolder(path: "\(temporary.path)/\(name)")
      let recorder = WearableRecorder(
        OmiWearable(), at: lab.adapters[1], address: lab.adapters[0].address, into: folder, sink: NoSink())
      return (folder, recorder)
    }
    let (folder, sound) = try recorder("sound")
    let (gone, failing) = try recorder("gone")
    try FileManager.default.removeItem(atPath: gone.path)
    let diary = RecordDiary(folder: folder, Terminal(json: false), maximum: .seconds(180), tracks: 2)
    let error = await #expect(throws: AudioIngestError.self) {
      try await within(.seconds(240), "the recording") { try await diary.run([sound, failing], nil) }
    }
    #expect(error?.code == .storage)
    try await lab.stop()
  }
}
