import Foundation

@testable import AudioIngest

extension Target {
  static let audio = [
    Target("audio-packets", seeds: [[0, 5, 0, 0, 0, 65, 66, 5, 1, 0, 0, 67, 68], [3, 4, 1, 2, 3, 4]], take: packets),
    Target(
      "audio-codec", seeds: [[20, 3, 0xb8, 0xff, 0xfe], [0, 4, 1, 2, 3, 4], [11, 2, 9, 9], [21, 1, 0x98]], take: codec),
    Target("stored-ring", seeds: [[0] + ringInfo + [9, 5, 0, 0, 0, 0, 0, 0, 0, 0]]) { bytes in
      try transfer(bytes) { RingTransfer(from: $0) }
    },
    Target("stored-file", seeds: [[0, 2, 1, 0, 1, 100], [1, 4, 0, 0, 1, 0]]) { bytes in
      try transfer(bytes) { FileTransfer(from: $0) }
    },
    Target("stored-record", seeds: [[0, 4, 1, 2, 3, 4], [1] + [UInt8](repeating: 3, count: 40)]) { bytes in
      var input = Input(bytes)
      let format: StoredFormat = input.byte() & 1 == 0 ? .ring : .file
      let record = input.all()
      require(StoredRecord(record[...], format).frames.allSatisfy { 1...255 ~= $0.count }, "an empty frame")
    },
    Target("sidecar", texts: [log, info, full], take: sidecar),
    Target("wav-header", seeds: [WAVHeader(sampleRate: 16_000, dataBytes: 320).bytes]) { bytes in
      guard let header = WAVHeader(bytes) else { return }
      require(header.bytes.count == WAVHeader.length, "a header of another length")
    },
  ]

  private static let ringInfo: [UInt8] = [31, 2] + [UInt8](repeating: 0, count: 30)
  private static let info = """
    {"capturedAt":"2026-11-22T00:45:03.000Z","capturedAtMs":1795308303000,"closedBy":"maximum","codec":"pcm16k",\
    "device":"00:AA:01:00:00:42","duration":3,"gaps":[],"id":2,"localDate":"2026-11-22","missingSamples":0,"peak":-0.6,\
    "previous":{"closedBy":"maximum","id":1,"pause":0},"rms":-6.6,"sampleRate":16000,"samples":48000,"sha256":"43ec",\
    "speech":[{"samples":11200,"start":0}],"timeZone":"Etc/UTC","utcOffset":0,"version":1}
    """
  /// A sidecar with every field that holds a number.
  private static let full = """
    {"backfill":{"clock":"device","fills":[{"duration":12.5,"segment":4},{"duration":2,"segment":5,"start":1600}]},\
    "capturedAt":"2026-11-22T00:45:03.000Z","capturedAtMs":1795308303000,"closedBy":"storeEnd","codec":"pcm8k",\
    "device":"00:AA:01:00:00:42","duration":6,"gaps":[{"concealed":80,"reason":"lost","samples":800,"start":1600}],\
    "id":3,"localDate":"2026-11-22","missingSamples":800,"peak":-0.6,\
    "previous":{"closedBy":"maximum","id":2,"pause":1.5},"rms":-6.6,"sampleRate":8000,"samples":48000,"sha256":"43ec",\
    "speech":[{"samples":11200,"start":0},{"samples":800,"start":40000}],"timeZone":"Etc/UTC","utcOffset":3600,\
    "version":1}
    """
  private static let log = """
    {"info":\(info)}
    {"gap":{"start":0,"samples":160,"reason":"lost","concealed":0}}
    {"speech":{"samples":11200,"start":0}}

    """

  /// A sidecar or log, and what is computed with its numbers: the end, the parts before and behind a cut, the gaps that
  /// it fills, the samples in a range of time, and its place beside another segment.
  private static func sidecar(_ bytes: [UInt8]) throws {
    let known = SegmentJSON.info(Array(info.utf8))
    for read in [SegmentJSON.info(bytes), SegmentLog.read(bytes)].compactMap(\.self) {
      _ = SegmentJSON.bytes(read, pretty: true)
      let middle = read.unixMs(of: read.samples / 2)
      require(middle <= read.endMs, "a middle behind the end")
      var cut = read
      cut.end(at: read.samples / 2)
      cut.fit(to: read.samples / 2)
      guard SegmentJSON.info(bytes) != nil, let known else { continue }
      _ = SegmentInfo.Backfill.gaps(filledBy: known, in: [read, cut])
      _ = SegmentInfo.Backfill.gaps(filledBy: read, in: [known])
      let range = read.samples(from: known.capture.unixMs, to: middle)
      require(range.upperBound <= read.samples, "more samples than there are")
      let both = [read, known].sorted { $0.capture.unixMs < $1.capture.unixMs }
      let pieces = try SegmentJoin(both, both.map { 0..<$0.samples }).pieces(keepsPauses: true)
      require(pieces.allSatisfy { if case .pause(let count) = $0 { count > 0 } else { true } }, "an empty pause")
    }
  }

  private static func packets(_ bytes: [UInt8]) throws {
    var input = Input(bytes)
    let framings: [PacketFraming] = [
      .omi, .bare, try PacketFraming(header: 2, footer: 1, number: .init(offset: 1, width: 1)),
      try PacketFraming(header: 2, footer: 5, number: .init(offset: 0, width: 2), frameLength: 30),
      try PacketFraming(header: 1, fragmentIndex: 0),
    ]
    var reassembler = FrameReassembler(framings[Int(input.byte()) % framings.count])
    var events: [FrameEvent] = []
    var instant = Duration.zero
    while !input.isEmpty {
      let command = input.byte()
      instant += .milliseconds(Int(command))
      switch command {
      case 255: reassembler.restart()
      case 254: reassembler.pause(at: instant, into: &events)
      case 253: reassembler.flush(at: instant, into: &events)
      case 252: reassembler.frameDuration = .milliseconds(Int(input.byte()))
      default: reassembler.receive(input.piece(), at: instant, into: &events)
      }
      require(reassembler.pending.bytes <= PacketFraming.longestFrame, "more pending than the longest frame")
      require(events.count <= PacketFraming.longestNotification + 64, "\(events.count) events")
      events.removeAll(keepingCapacity: true)
    }
  }

  private static func codec(_ bytes: [UInt8]) throws {
    var input = Input(bytes)
    let codec = try AudioCodec(omiValue: [input.byte()])
    var decoder = try StreamDecoder(codec)
    var timeline = Timeline(sampleRate: codec.sampleRate)
    var samples: [Int16] = []
    var gaps: [AudioGap] = []
    while !input.isEmpty {
      let frame = input.piece()
      let event: FrameEvent = frame.isEmpty ? .lost(Int(input.byte())) : frame == [0] ? .restarted : .frame(frame[...])
      decoder.decode(event, on: &timeline, into: &samples, gaps: &gaps)
      samples.removeAll(keepingCapacity: true)
    }
  }

  private static func transfer(_ bytes: [UInt8], _ make: (StoredPosition?) -> some StoreTransfer) throws {
    var input = Input(bytes)
    let known = input.byte() & 1 == 0 ? nil : StoredPosition(next: UInt64(input.number()), ring: 1, tail: 4)
    var machine = make(known)
    var actions = machine.handle(.start)
    while !input.isEmpty {
      switch actions.last {
      case .readSize: actions = machine.handle(.size(input.piece()))
      case .keep: actions = machine.handle(.kept)
      default:
        let value = input.longPiece()
        actions = machine.handle(value.isEmpty ? .timedOut : .notification(value))
      }
      require(actions.count < 16, "\(actions.count) actions")
    }
  }
}
