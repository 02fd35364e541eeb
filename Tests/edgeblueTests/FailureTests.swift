import Agent
import AudioIngest
import BackgroundTasks
import BlueZ
import DBus
import DurableFiles
import EdgeCoder
import ErrorReporting
import Glibc
import NetworkPath
import Streams
import SystemState
import Testing
import Uploads

@testable import edgeblue

@Suite("Errors as the command reports them")
struct FailureTests {
  @Test(
    "Every library's error keeps its message, and its category decides the exit status",
    arguments: [
      (AgentError(.notPermitted, "m") as any ReportableError, edgeblue.ExitStatus.notPermitted),
      (AudioIngestError(.busy, "m"), .tryAgain),
      (BackgroundTasksError(.busy, "m"), .tryAgain),
      (BlueZError(.connectFailed, "m"), .tryAgain),
      (DBusError(.timedOut, "m"), .unavailable),
      (FileError("m", errno: ENOSPC), .unavailable),
      (FileError("m", errno: EACCES), .notPermitted),
      (FileError("m", errno: ENOENT), .unavailable),
      (NetworkPathError(.timedOut, "m"), .unavailable),
      (PowerError(.invalidArgument, "m"), .badInput),
      (SystemCallError("m", errno: EMFILE), .unavailable),
      (UploadsError(.corrupted, "m"), .failed),
    ])
  func status(of error: any ReportableError, expected: edgeblue.ExitStatus) {
    let failure = Failure(error)
    #expect(failure.status == expected)
    #expect(failure.message.hasPrefix("m"))
  }

  @Test("An adapter that needs a bus names the bus's refusal, and how to look at it")
  func cause() {
    let bus = DBusError(.connectFailed, "no socket")
    let failure = Failure(BlueZError(.serviceUnavailable, "no session", underlying: bus))
    #expect(failure.message == "no session: no socket")
    #expect(failure.status == .unavailable)
    #expect(failure.hint?.contains("edgeblue doctor") == true)
  }

  @Test("The command adds its advice to errors of recordings that have none")
  func adviceForRecordings() {
    #expect(Failure(AudioIngestError(.noSuchSegment, "m")).hint == "`edgeblue segments list` shows what there is")
    #expect(Failure(AudioIngestError(.damagedFile, "m")).hint == "`edgeblue segments repair` names the corrupt files")
    #expect(Failure(AudioIngestError(.noSuchSegment, "m", hint: "own")).hint == "own")
  }

  @Test("A cancelled task is an interruption")
  func cancellation() {
    #expect(Failure(CancellationError()).status == .interrupted)
  }
}
