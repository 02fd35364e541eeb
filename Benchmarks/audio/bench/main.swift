// What the recorder costs, without a radio: packets of wearables go in, segments on disk come out.
//
//   audio-bench streams FRAMES STREAMS SECONDS FOLDER   so many streams at once; prints a line of JSON
//   audio-bench vad SAMPLES                             a 0 or 1 for each 20 ms of 16 bit at 16 kHz
//   audio-bench record HOURS FOLDER                     records a tone and silence, five seconds of each in turn
//   audio-bench export HOURS FORMAT FOLDER TARGET       joins the first HOURS of FOLDER; a line of JSON
//   audio-bench formats FRAMES FOLDER                   records FRAMES, exports that in each format; a line of JSON
//
// FRAMES has Opus packets of 20 ms, each behind its length in two bytes, the lower one first.
import AudioIngest
import Foundation

/// What a wearable sends: packets with a number, the index in the frame, and the codec's bytes.
func packets(_ path: String) throws -> [[UInt8]] {
  let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
  var packets: [[UInt8]] = []
  var offset = 0
  while offset + 2 <= bytes.count {
    let end = offset + 2 + Int(bytes[offset]) + Int(bytes[offset + 1]) << 8
    packets.append([0, 0, 0] + bytes[(offset + 2)..<min(end, bytes.count)])
    offset = end
  }
  return packets
}

/// One of `VmRSS` and `VmHWM`, in bytes.
func memory(_ name: String) -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
  return (line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
}

/// The CPU time of this process, in seconds.
func cpu() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// How often memory was asked for so far, when the program that counts it was loaded before this one.
func allocations() -> Int? {
  typealias Count = @convention(c) () -> UInt
  return dlsym(nil, "bench_allocations").map { Int(unsafeBitCast($0, to: Count.self)()) }
}

struct Stream {
  let recorder: StreamRecorder
  var number: UInt16 = 0
  var next: Int
}

/// Plays so many streams side by side, each frame when it would come, as fast as that goes.
func play(_ packets: [[UInt8]], streams count: Int, seconds: Int, folder path: String) throws -> [String: Any] {
  var packets = packets
  let folder = try SegmentFolder(path: path, limits: .init(reserve: 0))
  let empty = memory("VmRSS")
  var streams = try (0..<count).map { index in
    Stream(
      recorder: try StreamRecorder(
        AudioDevice(address: "FA:0B:00:00:00:01"), .opus20ms, framing: .omi, into: folder),
      next: index * 37 % packets.count)
  }
  var counted: (frames: Int, allocations: Int)?
  let begin = ContinuousClock.now
  let cpuBegin = cpu()
  let frames = seconds * 50
  // Nobody's wearable begins in the same instant as all others: they come within the first second.
  for frame in 0..<(frames + 50) {
    let moment = Moment(instant: .milliseconds(frame * 20), wallMs: start + Int64(frame) * 20)
    for index in streams.indices where (index % 50)..<(index % 50 + frames) ~= frame {
      let place = streams[index].next
      packets[place][0] = UInt8(truncatingIfNeeded: streams[index].number)
      packets[place][1] = UInt8(streams[index].number >> 8)
      streams[index].recorder.receive(packets[place], at: moment)
      streams[index].number &+= 1
      streams[index].next = (place + 1) % packets.count
    }
    // What is needed once is there after five seconds.
    if frame == min(250, frames / 2), let asked = allocations() { counted = (frame + 1, asked) }
  }
  var result: [String: Any] = [:]
  if let counted, let asked = allocations() {
    result["allocationsPerFrame"] = Double(asked - counted.allocations) / Double((frames - counted.frames) * count)
  }
  result["bytesPerStream"] = (memory("VmRSS") - empty) / count
  let end = Moment(instant: .seconds(seconds), wallMs: start + Int64(seconds) * 1000)
  for stream in streams { stream.recorder.end(.shutdown, at: end) }
  result["wall"] = begin.duration(to: .now) / .seconds(1)
  result["cpu"] = cpu() - cpuBegin
  result["audio"] = Double(seconds * count)
  let samples = streams.flatMap { $0.recorder.takeEvents() }.reduce(0) {
    if case .finished(let segment) = $1 { $0 + segment.info.samples } else { $0 }
  }
  guard samples == seconds * count * 16_000 else {
    fatalError("\(samples) samples were recorded, of \(seconds * count * 16_000)")
  }
  return result
}

/// Records a stream, and exports it in each format: the bytes of the file, and the seconds of CPU for it.
func formats(_ packets: [[UInt8]], folder path: String) throws -> [String: Any] {
  let seconds = packets.count / 50
  _ = try play(packets, streams: 1, seconds: seconds, folder: path + "/recordings")
  var result: [String: Any] = ["seconds": seconds]
  for format in AudioFileFormat.allCases {
    let target = "\(path)/all.\(format.fileExtension)"
    let begin = cpu()
    let export = try SegmentExport(SegmentCatalog(path: path + "/recordings"), .init(format: format))
    guard try export.write(joinedTo: target)[0].samples == seconds * 16_000 else { fatalError("samples are missing") }
    let size = try FileManager.default.attributesOfItem(atPath: target)[.size] as? Int
    result[format.rawValue] = ["bytes": size ?? 0, "cpu": cpu() - begin]
  }
  return result
}

/// The time of the first sample.
let start: Int64 = 1_795_308_300_000

/// Records PCM of 16 kHz: a tone of 440 Hz and silence, five seconds of each in turn.
func record(hours: Int, folder path: String) throws {
  let frames = (0..<1000).map { frame -> [UInt8] in
    let samples = (0..<160).map { sample -> Int16 in
      frame < 500 ? Int16(8000 * sin(Double(frame * 160 + sample) * 440 / 16_000 * 2 * .pi)) : 0
    }
    return [0, 0, 0] + samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
  }
  let folder = try SegmentFolder(path: path, limits: .init(quota: 16 << 30, reserve: 0))
  let recorder = try StreamRecorder(AudioDevice(address: "FA:0B:00:00:00:01"), .pcm16k, framing: .omi, into: folder)
  let count = hours * 360_000
  for number in 0..<count {
    var packet = frames[number % frames.count]
    packet[0] = UInt8(truncatingIfNeeded: number)
    packet[1] = UInt8(truncatingIfNeeded: number >> 8)
    recorder.receive(packet, at: Moment(instant: .milliseconds(number * 10), wallMs: start + Int64(number) * 10))
    if number % 6000 == 0 { _ = recorder.takeEvents() }
  }
  recorder.end(.shutdown, at: Moment(instant: .milliseconds(count * 10), wallMs: start + Int64(count) * 10))
}

/// Joins the first hours of a recording, and returns what that takes.
func export(hours: Int, _ format: AudioFileFormat, of folder: String, to target: String) throws -> [String: Any] {
  var options = SegmentExport.Options(format: format)
  options.to = start + Int64(hours) * 3_600_000
  let begin = ContinuousClock.now
  let file = try SegmentExport(SegmentCatalog(path: folder), options).write(joinedTo: target)[0]
  let wall = begin.duration(to: .now) / .seconds(1)
  guard file.samples == hours * 3600 * 16_000 else { fatalError("\(file.samples) samples were joined") }
  let size = try FileManager.default.attributesOfItem(atPath: target)[.size] as? Int
  return ["wall": wall, "cpu": cpu(), "memory": memory("VmHWM"), "bytes": size ?? 0]
}

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "streams":
  let result = try play(
    packets(arguments[1]), streams: Int(arguments[2])!, seconds: Int(arguments[3])!, folder: arguments[4])
  print(String(decoding: try JSONSerialization.data(withJSONObject: result), as: UTF8.self))
case "formats":
  let result = try formats(packets(arguments[1]), folder: arguments[2])
  print(String(decoding: try JSONSerialization.data(withJSONObject: result), as: UTF8.self))
case "record": try record(hours: Int(arguments[1])!, folder: arguments[2])
case "export":
  let result = try export(
    hours: Int(arguments[1])!, AudioFileFormat(rawValue: arguments[2])!, of: arguments[3], to: arguments[4])
  print(String(decoding: try JSONSerialization.data(withJSONObject: result), as: UTF8.self))
case "vad":
  let bytes = [UInt8](try Data(contentsOf: URL(filePath: arguments[1])))
  let samples = bytes.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
  var detector = EnergyDetector()
  let marks = stride(from: 0, through: samples.count - 320, by: 320).map { start in
    samples[start..<(start + 320)].withUnsafeBufferPointer { detector.isSpeech($0) } ? "1" : "0"
  }
  print(marks.joined())
default:
  print(
    "audio-bench: streams FRAMES STREAMS SECONDS FOLDER, record HOURS FOLDER, export HOURS FORMAT FOLDER TARGET, "
      + "formats FRAMES FOLDER, or vad SAMPLES")
  exit(64)
}
