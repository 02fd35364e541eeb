import Foundation
import Testing

@testable import AudioIngest
@testable import AudioWearables
@testable import edgeblue

@Suite("The command record") struct RecordTests {
  private static let device = AudioDevice(address: "FA:0B:00:00:00:01", name: "Omi\u{1b}[2J")

  private static func status(
    _ state: ConnectionMachine.State, frames: Int = 0, lost: Int = 0, level: Double = -30
  ) -> WearableRecorder.Status {
    var counters = StreamCounters()
    counters.frames = frames
    counters.lostFrames = lost
    let live = WearableRecorder.Live(
      codec: .opus20ms, counters: counters, missingSamples: lost * 320, openSamples: 67_200, level: level,
      isSpeech: true)
    return WearableRecorder.Status(state: state, device: device, battery: 87, live: frames > 0 ? live : nil)
  }

  private static func view(tracks: Int = 1) -> RecordView {
    RecordView(path: "/r", limits: .init(), maximum: .seconds(180), tracks: tracks)
  }

  @Test("The status of a recording is printed in lines") func howItStands() throws {
    var view = Self.view()
    let plain: (String, Terminal.Paint) -> String = { text, _ in text }
    #expect(view.lines(paint: plain) == ["The wearable · not started", "", "0 segments, 0:00"])
    view.note(Self.status(.connecting), of: 0, at: .zero)
    #expect(view.lines(paint: plain)[0] == "Omi\u{fffd}[2J (FA:0B:00:00:00:01) · connecting · battery 87 %")

    view.note(Self.status(.streaming, frames: 100), of: 0, at: .zero)
    view.note(Self.status(.streaming, frames: 199, lost: 1), of: 0, at: .seconds(2))
    view.note(.began(try Self.info()), of: 0)
    view.room = .init(used: 5 << 20, free: 12 << 30)
    view.say("hello", at: "00:00:01")
    #expect(
      view.lines(paint: plain) == [
        "Omi\u{fffd}[2J (FA:0B:00:00:00:01) · streaming · battery 87 % · Opus, 20 ms frames",
        "  ▕████████████████████│                   ▏ −30.0 dB  speech",
        "  49.5 frames/s · 1 of 200 lost (0.50 %) · 0.02 s missing",
        "  segment 3: 0:04 of 3:00 · 20261122T004500.000Z-000003", "",
        "0 segments, 0:00 · 5.0 MiB of 8.0 GiB in /r · 12 GiB free", "", "00:00:01  hello",
      ])
    view.say("no audio comes and the device does not answer", at: "00:00:02")
    #expect(
      view.lines(width: 40, height: 13, paint: plain) == [
        "Omi\u{fffd}[2J (FA:0B:00:00:00:01) · streaming", "  battery 87 % · Opus, 20 ms frames",
        "  ▕█████████│        ▏ −30.0 dB  speech", "  49.5 frames/s · 1 of 200 lost (0.50 %)",
        "    0.02 s missing", "  segment 3: 0:04 of 3:00", "    20261122T004500.000Z-000003", "", "0 segments, 0:00",
        "  5.0 MiB of 8.0 GiB in /r · 12 GiB free", "", "00:00:02  no audio comes and the device",
        "          does not answer",
      ])
    for number in 0..<9 { view.say("\(number)", at: "") }
    #expect(view.lines(paint: plain).suffix(6).map { $0.last } == ["3", "4", "5", "6", "7", "8"])
    view.note(.finished(.init(info: try Self.info(), path: "/r/x.wav")), of: 0)
    #expect(view.lines(paint: plain)[3] == "  no open segment")
    #expect(view.finished.segments == 1)
    #expect(view.finished.seconds == 4.2)
    view.note(.stalled(AudioIngestError(.noSpace, "the disk is full")), of: 0)
    #expect(view.lines(paint: plain)[3] == "  not recording: no space")
    view.note(.began(try Self.info()), of: 0)
    #expect(view.lines(paint: plain)[3].hasPrefix("  segment 3"))
  }

  @Test("The progress of stored recordings is printed") func whatTheWearableHasStored() throws {
    var view = Self.view()
    let plain: (String, Terminal.Paint) -> String = { text, _ in text }
    func lines(_ stored: StoredStatus?) -> [String] {
      var status = Self.status(.streaming, frames: 100)
      status.stored = stored
      status.model = "omiGlass"
      view.note(status, of: 0, at: .zero)
      return view.lines(paint: plain)
    }
    var counters = StoredCounters()
    #expect(lines(StoredStatus(isFetching: false, remaining: 0))[4].isEmpty)
    counters.records = 300
    let coming = StoredStatus(isFetching: true, remaining: 1200, counters: counters)
    #expect(lines(coming)[4] == "  stored recordings: 300 records fetched, 1200 left")
    #expect(lines(coming)[0].contains("streaming · omiGlass · battery 87 %"))
    counters.repeated = 2
    counters.overwritten = 7
    let fetched = StoredStatus(isFetching: false, remaining: 0, counters: counters)
    let words = "300 records fetched · 2 parts requested again · 7 overwritten by the wearable"
    #expect(lines(fetched)[4] == "  stored recordings: " + words)
    guard let json = view.tracks[0].json["stored"] else { return #expect(Bool(false), "nothing stored") }
    #expect(json["records"] == 300)
    #expect(json["remaining"] == 0)
    #expect(json["isFetching"] == false)
    #expect(json.members?.count == 9)
    let news = RecordNews(.stored(coming))
    #expect(news.name == "stored")
    #expect(news.fields["records"] == 300)
    #expect(news.text("Omi") == "Omi: stored recordings: 300 records fetched, 1200 left")
    view.uploaded = 2
    #expect(view.lines(paint: plain).contains { $0.contains("0 segments, 0:00 · 2 uploaded") })
  }

  @Test("The level meter falls slowly, and marks the peak") func theMeterFallsSlowlyAndRemembersThePeak() {
    var meter = LevelMeter()
    #expect(meter.bar(10) == "          ")
    meter.note(0, at: .zero)
    #expect(meter.bar(10) == "██████████")
    meter.note(-120, at: .seconds(1))
    #expect(meter.level == -20)
    #expect(meter.bar(10) == "██████▋  │")
    meter.note(-120, at: .seconds(2.5))
    #expect(meter.level == -50)
    #expect(meter.peak == -50)
    meter.note(-.infinity, at: .seconds(9))
    #expect(meter.bar(10) == "          ")
  }

  @Test("The frame rate covers the last seconds") func theRateIsThatOfTheLastSeconds() {
    var rate = FrameRate()
    #expect(rate.perSecond == nil)
    for tenth in 0...50 { rate.note(tenth < 20 ? 0 : (tenth - 20) * 5, at: .milliseconds(tenth * 100)) }
    #expect(rate.perSecond == 50)
    // Another stream.
    rate.note(0, at: .seconds(6))
    #expect(rate.perSecond == nil)
  }

  @Test("The events of a recording are printed, and have JSON fields") func whatHappens() throws {
    let news = RecordNews(.recording(.finished(.init(info: try Self.info(), path: "/r/x.wav"))))
    #expect(news.name == "segment")
    #expect(news.text("Omi") == "Omi: segment 3, 0:04, 0.10 s missing, in /r/x.wav")
    #expect(news.fields["id"] == 3)
    #expect(news.fields["duration"] == .number(4.2))
    #expect(news.fields["missingSamples"] == 1600)
    #expect(RecordNews(.state(.muted)).text(nil) == "The wearable: muted: connected, but no audio arrives")
    #expect(RecordNews(.problem("a\u{1b}b")).text(nil) == "a\u{fffd}b")
    let full = AudioIngestError(.noSpace, "the disk is full", hint: "make room")
    #expect(RecordNews(.recording(.stalled(full))).fields == ["error": "the disk is full", "hint": "make room"])
    var view = Self.view()
    view.note(Self.status(.streaming, frames: 7), of: 0, at: .zero)
    let json = view.tracks[0].json
    #expect(json["state"] == "streaming")
    #expect(json["battery"] == 87)
    #expect(json["levelDB"] == .number(-30.0))
    guard let counters = json["counters"] else { return #expect(Bool(false), "no counters") }
    #expect(counters["frames"] == 7)
    #expect(counters.members?.count == 13)
  }

  @Test("A clock that is behind the recordings is reported") func theClockIsBehind() throws {
    let info = try Self.info()
    #expect(RecordNews.early(info, nowMs: info.capture.unixMs - 999) == nil)
    let news = try #require(RecordNews.early(info, nowMs: info.capture.unixMs - 7_200_000))
    #expect(news.name == "problem")
    #expect(news.text(nil).hasPrefix("the clock is 7200 s behind the last segment; "))
  }

  @Test("The options describe a wearable of another kind") func aWearableThatIsDescribed() throws {
    func wearable(_ words: String) throws -> any Wearable {
      try WearableOptions.parse(words.split(separator: " ").map(String.init)).wearable()
    }
    #expect(try wearable("") is OmiWearable)
    let plain = try wearable("--service 180a --characteristic 2a29 --codec pcm8k")
    #expect(plain.framing == .bare)
    #expect(plain.advertisedServices == ["180a"])
    #expect(plain.audio.characteristic == "2a29")
    let omi = try wearable("--service 180a --characteristic 2a29 --codec opus10ms --number-at 0 --piece-at 2")
    #expect(omi.framing == (try PacketFraming(header: 3, number: .init(offset: 0, width: 2), fragmentIndex: 2)))
    let pendant = try wearable(
      "--service 180a --characteristic 2a29 --codec opus10ms --header 4 --footer 5 --number-at 3 --short-number "
        + "--frame-length 40")
    #expect(
      pendant.framing
        == (try PacketFraming(header: 4, footer: 5, number: .init(offset: 3, width: 1), frameLength: 40)))
  }

  @Test(
    "An impossible description of a wearable is rejected",
    arguments: [
      "--characteristic 2a29", "--header 3", "--service 180a", "--service 180a --characteristic 2a29",
      "--service 180a --characteristic 2a29 --codec mp3",
      "--service 180a --characteristic 2a29 --codec pcm8k --header -1",
      "--service 180a --characteristic 2a29 --codec pcm8k --short-number",
      "--service 180a --characteristic 2a29 --codec pcm8k --header 1 --number-at 9223372036854775807",
      "--service 180a --characteristic 2a29 --codec pcm8k --piece-at 9223372036854775807",
      "--service 180a --characteristic 2a29 --codec pcm8k --number-at -5",
      "--service 180a --characteristic 2a29 --codec pcm8k --piece-at 0 --frame-length 40",
    ])
  func descriptionsThatCannotBe(_ words: String) {
    #expect(throws: (any Error).self) { try WearableOptions.parse(words.split(separator: " ").map(String.init)) }
  }

  static func info() throws -> SegmentInfo {
    let sidecar = """
      {"capturedAt":"2026-11-22T00:45:00.000Z","capturedAtMs":1795308300000,"closedBy":"silence","codec":"opus20ms",
       "device":"FA:0B:00:00:00:01","deviceName":"<Omi> & co","duration":4.2,
       "gaps":[{"concealed":1600,"reason":"lost","samples":1600,"start":32000}],"id":3,"localDate":"2026-11-22",
       "missingSamples":1600,"peak":-3.1,"rms":-23,"sampleRate":16000,"samples":67200,
       "sha256":"00","speech":[{"start":16000,"samples":32000}],"timeZone":"Etc/UTC","utcOffset":3600,"version":1,
       "previous":{"closedBy":"linkLoss","id":2,"pause":12.5}}
      """
    return try JSONDecoder().decode(SegmentInfo.self, from: Data(sidecar.utf8))
  }
}
