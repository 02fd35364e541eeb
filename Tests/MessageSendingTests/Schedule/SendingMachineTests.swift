import Testing

@testable import MessageSending

/// The cases of the known implementations, by their names in the specification.
@Suite("The schedule, by the cases of other implementations", .timeLimit(.minutes(5))) struct SendingMachineTests {
  @Test("J5, J6, J7: the last run is recorded, kept by a skipped run, and replaced an hour later")
  func theLastRunIsRecorded() {
    var play = SchedulePlay(at: 3720)
    play.handle(.ticked)
    #expect(play.lastRun == 3720)
    play.handle(.ticked)
    #expect(play.lastRun == 3720)
    #expect(play.outcomes == [.done, .skipped])
    play.now = 7380
    play.handle(.ticked)
    #expect(play.lastRun == 7380)
    #expect(play.posts == 4)
  }

  @Test("S1: each of two starts schedules a tick, and a run is owed after each") func twoStarts() {
    var play = SchedulePlay()
    play.handle(.started)
    #expect(play.timers == [.seconds(1015)])
    #expect(play.isPending)
    play.handle(.started)
    #expect(play.timers.count == 2)
    #expect(play.isPending)
  }

  @Test("S2, S5: a start and a stop schedule a tick each, and a run is owed after both") func aStartAndAStop() {
    var play = SchedulePlay()
    play.handle(.started)
    play.handle(.stopping)
    #expect(play.timers == [.seconds(1015), .seconds(415)])
    #expect(play.isPending)
    play.handle(.started)
    #expect(play.isPending)
  }

  /// A program without a timer of its own ignores the action, and finds the run owed at its next start.
  @Test("S3, S4: a run is owed even if nothing sets the timer") func withoutATimer() {
    var play = SchedulePlay()
    play.handle(.started)
    play.restart()
    play.handle(.started)
    #expect(play.posts == 2)
    #expect(play.isPending)
  }

  @Test("A1, A2: after only a start or only a stop, one tick is scheduled and a run is owed")
  func onlyAStartOrOnlyAStop() {
    for event in [.started, .stopping] as [SendingMachine.Event] {
      var play = SchedulePlay()
      play.handle(event)
      #expect(play.timers.count == 1)
      #expect(play.isPending)
      #expect(play.posts == 0)
    }
  }

  @Test("A3, A6, A7: the tick after a start or stop sends exactly two messages")
  func theTickSendsTwo() {
    for event in [.started, .stopping] as [SendingMachine.Event] {
      var play = SchedulePlay()
      play.handle(event)
      play.now += 415
      play.handle(.ticked)
      #expect(play.posts == 2)
      #expect(play.outcomes == [.done])
      #expect(!play.isPending)
    }
  }

  @Test("A4: a start that finds a run owed sends two messages at once, then schedules a tick")
  func aStartWithAnOwedRun() {
    var play = SchedulePlay()
    play.handle(.stopping)
    play.restart()
    play.handle(.started)
    #expect(play.posts == 2)
    #expect(play.timers == [.seconds(415), .seconds(1015)])
  }

  @Test("A5: a start soon after a run sends nothing, and schedules a tick") func aStartSoonAfterARun() {
    var play = SchedulePlay()
    play.handle(.stopping)
    play.handle(.ticked)
    play.handle(.started)
    #expect(play.posts == 2)
    #expect(play.timers.last == .seconds(1015))
  }

  @Test("A8: a skipped tick is followed by another one, which runs when the hour has passed") func aSkippedTick() {
    var play = SchedulePlay()
    play.handle(.started)
    play.handle(.stopping)
    play.handle(.ticked)
    #expect(play.posts == 2)
    play.handle(.started)
    play.handle(.ticked)
    #expect(play.outcomes == [.done, .skipped])
    #expect(play.isPending)
    play.now += 7200
    play.handle(.ticked)
    #expect(play.outcomes == [.done, .skipped, .done])
    #expect(play.posts == 4)
  }

  @Test("A9, A10: the first run is done; two ticks 5 s apart are skipped; one 2 h later is done")
  func ticksSoonAfterARun() {
    var play = SchedulePlay()
    for wait in [0, 5, 5, 7200] as [Int64] {
      play.now += wait
      play.handle(.ticked)
    }
    #expect(play.outcomes == [.done, .skipped, .skipped, .done])
  }

  @Test("A11: a clock that was set back by an hour permits a run, which corrects the record") func aBackwardJump() {
    var play = SchedulePlay()
    play.handle(.ticked)
    play.now -= 3600
    play.handle(.ticked)
    #expect(play.outcomes == [.done, .done])
    play.now += 60
    play.handle(.ticked)
    #expect(play.outcomes.last == .skipped)
  }
}
