import Testing

@testable import MessageSending

/// Our decisions where the known implementations and their design disagree, by their numbers in the specification.
@Suite("The schedule, by our decisions", .timeLimit(.minutes(5))) struct SendingDecisionTests {
  @Test("2, 3: a run happens at a tick, and at each start or resume that finds one owed") func runsAtTicksAndStarts() {
    var play = SchedulePlay()
    play.handle(.ticked)
    for _ in 0..<2 {
      play.now += 3600
      play.handle(.stopping)
      play.handle(.started)
    }
    #expect(play.outcomes == [.done, .done, .done])
  }

  @Test("5, 6: the failsafe follows every start, after the run, and leaves a run owed") func theFailsafeFollowsTheRun()
  {
    var play = SchedulePlay()
    play.handle(.stopping)
    let actions = play.machine.handle(.started, at: play.now * 1000, draw: 0)
    #expect(!actions.contains { if case .arm = $0 { true } else { false } })
    _ = play.machine.handle(.sent, at: play.now * 1000, draw: 0)
    _ = play.machine.handle(.sent, at: play.now * 1000, draw: 0)
    #expect(!play.machine.record.isPending)
    let after = play.machine.handle(.ended(.attempted), at: play.now * 1000, draw: 0)
    #expect(after.first == .arm(.seconds(900)))
    #expect(play.machine.record.isPending)
  }

  @Test("7: a failed run keeps the last run and stays owed, and its retries back off from 10 to 300 minutes")
  func aFailedRunBacksOff() {
    var play = SchedulePlay()
    play.handle(.ticked)
    let lastRun = play.lastRun
    for minutes in [10, 20, 40, 80, 160, 300, 300] as [Int64] {
      play.now += 18_000
      play.results = [false, false]
      play.handle(.ticked)
      #expect(play.timers.last == .seconds(minutes * 60))
      #expect(play.isPending)
      #expect(play.lastRun == lastRun)
    }
    #expect(play.posts == 2 + 7 * 2)
    play.now += 18_000
    play.handle(.ticked)
    #expect(play.outcomes.last == .done)
    #expect(play.saved.failures == 0)
    #expect(play.saved.lastFailure == nil)
  }

  @Test("7: the back-off survives a restart: a program that starts again and again does not send again and again")
  func theBackOffSurvivesARestart() {
    var play = SchedulePlay()
    play.results = [false, false]
    play.handle(.ticked)
    for _ in 0..<5 {
      play.now += 60
      play.restart()
      play.handle(.started)
    }
    #expect(play.posts == 2)
    play.now += 300
    play.restart()
    play.handle(.started)
    #expect(play.posts == 4)
    #expect(play.outcomes.last == .done)
  }

  @Test("8: a completed run clears the flag; the tick that was scheduled before the run is the next one")
  func aCompletedRunClearsTheFlag() {
    var play = SchedulePlay()
    play.handle(.ticked)
    #expect(!play.isPending)
    #expect(play.timers == [.seconds(415)])
    #expect(play.saved.due == (play.now + 415) * 1000)
  }

  @Test("9: a skipped run changes nothing but the last trigger and the next tick") func aSkippedRunChangesNothing() {
    var play = SchedulePlay()
    play.handle(.ticked)
    var expected = play.saved
    play.now += 60
    play.handle(.ticked)
    expected.isPending = true
    expected.lastTrigger = play.now * 1000
    expected.due = (play.now + 415) * 1000
    #expect(play.saved == expected)
  }

  @Test("12, 13: a run makes all its attempts, also after a failed one") func aRunMakesAllItsAttempts() {
    var play = SchedulePlay()
    play.results = [false, false]
    play.handle(.ticked)
    #expect(play.posts == 2)
  }

  @Test("14: a start, a stop and a tick leave a run owed until one is completed") func aRunIsOwed() {
    var play = SchedulePlay()
    play.handle(.ticked)
    #expect(!play.isPending)
    for event in [.ticked, .started, .stopping] as [SendingMachine.Event] {
      var other = play
      other.handle(event)
      #expect(other.isPending)
    }
  }

  @Test("17: a run without covers sends nothing, keeps the last run, and waits for the next tick") func noCovers() {
    var play = SchedulePlay()
    let actions = play.machine.handle(.ticked, at: play.now * 1000, draw: 0.5)
    #expect(actions.contains(.send(2)))
    let after = play.machine.handle(.ended(.withoutCovers), at: play.now * 1000, draw: 0.5)
    #expect(after.last == .report(.withoutCovers))
    #expect(play.machine.record.isPending)
    #expect(play.machine.record.lastRun == nil)
    #expect(play.machine.record.failures == 0)
    #expect(play.machine.record.remaining == 0)
  }

  @Test("Partial success: the retry sends only the remainder, and then the run is completed") func theRemainder() {
    var play = SchedulePlay()
    play.results = [true, false]
    play.handle(.ticked)
    #expect(play.outcomes == [.failed])
    #expect(play.saved.remaining == 1)
    #expect(play.lastRun == nil)
    play.now += 600
    play.handle(.ticked)
    #expect(play.posts == 3)
    #expect(play.outcomes == [.failed, .done])
    #expect(play.lastRun == play.now)
  }

  @Test("A crash after the last message, before the run has ended, does not repeat the run") func aCrashAfterTheLast() {
    var play = SchedulePlay()
    _ = play.machine.handle(.ticked, at: play.now * 1000, draw: 0.5)
    _ = play.machine.handle(.sent, at: play.now * 1000, draw: 0.5)
    let last = play.machine.handle(.sent, at: play.now * 1000, draw: 0.5)
    guard case .save(let record) = last.first else { return #expect(Bool(false), "nothing was saved") }
    var restarted = SendingMachine(record: record, policy: .usual)
    let actions = restarted.handle(.ticked, at: play.now * 1000 + 1, draw: 0.5)
    #expect(actions.last == .report(.skipped))
  }

  @Test("Two triggers at once: the second one has no effect") func twoTriggersAtOnce() {
    var play = SchedulePlay()
    _ = play.machine.handle(.ticked, at: play.now * 1000, draw: 0.5)
    let before = play.machine
    for event in [.ticked, .started, .stopping] as [SendingMachine.Event] {
      let actions = play.machine.handle(event, at: play.now * 1000 + 7, draw: 0.1)
      #expect(actions == [.report(.busy)])
      #expect(play.machine == before)
    }
  }

  @Test("A program that is started at intervals ticks when due, and after the clock was set back") func dueTicks() {
    var play = SchedulePlay()
    #expect(play.machine.dueEvent(at: play.now * 1000) == .started)
    play.handle(.started)
    #expect(play.machine.dueEvent(at: (play.now + 1014) * 1000) == nil)
    #expect(play.machine.dueEvent(at: (play.now + 1015) * 1000) == .ticked)
    #expect(play.machine.dueEvent(at: (play.now - 86_400) * 1000) == .ticked)
  }
}
