// The processor time of a scan at 4,000 devices, alone and with the streams that only want connections or bonds: these
// see every change of every device, and must not pay for it. bluetoothd is a fake in a process of its own, so that the
// time is that of the library alone. Ends with 1 when a stream beside the scan makes it cost more than 1.2 times as much.
import BlueZ
import BlueZTesting
import Foundation
import Glibc
import Streams
import SystemTesting

let count = 4_000
let rounds = 15
let bar = 1.2

func address(_ number: Int) -> BluetoothAddress {
  BluetoothAddress("C0:00:00:00:\(hex(number >> 8)):\(hex(number & 0xFF))")!
}

func hex(_ byte: Int) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }

/// A bluetoothd that prints its bus, and receives each device once with the RSSI of each line of its input.
func serve() async throws {
  let bluez = try await FakeBlueZ.start(adapters: 1)
  guard case .address(let bus) = bluez.bus else { fatalError("a fake is on a bus of its own") }
  print(bus)
  fflush(nil)
  while let line = readLine() {
    guard let rssi = Int16(line) else { fatalError("not an RSSI: \(line)") }
    for number in 0..<count {
      await bluez.adapters[0].receiveAdvertisement(of: address(number), name: "Device \(number)", rssi: rssi)
    }
  }
  try await bluez.stop()
}

func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

enum Case: String, CaseIterable {
  case scan = "scan"
  case connections = "scan and connectionEvents()"
  case bonds = "scan and newBonds()"
  case both = "scan and both"
}

/// Lets the fake receive every device once more, and returns the seconds of processor time until the scan has all.
func change(
  _ fake: ChildProcess, _ rssi: Int, _ results: inout BoundedStream<Adapter.ScanResult>.AsyncIterator
) async throws -> Double {
  let before = processorTime()
  try await fake.write("\(rssi)\n")
  var seen = 0
  while seen < count, let result = await results.next() {
    if result.rssi == rssi { seen += 1 }
  }
  precondition(seen == count, "the scan ended after \(seen) of \(count)")
  return processorTime() - before
}

func measure() async throws {
  let fake = try ChildProcess(CommandLine.arguments[0], ["fake"], hasInput: true)
  let session = try await Session.open(bus: .address(fake.firstLine()))
  let adapter = try await session.adapter()
  var results = try await adapter.discover(.init(duplicates: true), limit: 4 * count).makeAsyncIterator()
  var times: [Case: [Double]] = [:]
  // Every change of RSSI is a new one, whichever case it is for. The first round warms up.
  var rssi = -30
  for round in 0...rounds {
    // The cases take turns, so that a slow minute of the machine hits all of them.
    for which in Case.allCases {
      rssi = rssi == -30 ? -31 : -30
      let connections = which == .connections || which == .both ? adapter.connectionEvents() : nil
      let bonds = which == .bonds || which == .both ? adapter.newBonds() : nil
      let time = try await change(fake, rssi, &results)
      withExtendedLifetime((connections, bonds)) {}
      if round > 0 { times[which, default: []].append(time) }
    }
  }
  session.close()
  fake.kill()
  report(times)
}

func report(_ times: [Case: [Double]]) {
  func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
  print("\(count) devices whose RSSI changes, \(rounds) rounds, processor time of the library's process")
  print("| case | ms median | beside the scan alone | bar |\n|---|---|---|---|")
  var isMissed = false
  for which in Case.allCases {
    guard let own = times[which], let scan = times[.scan] else { continue }
    // Round by round, so that the machine's own speed cancels out.
    let ratios = zip(own, scan).map { $0 / $1 }.sorted()
    let ratio = ratios[ratios.count / 2]
    if ratio > bar { isMissed = true }
    print(
      "| \(which.rawValue) | \(text(own.sorted()[own.count / 2] * 1000, 0)) | \(text(ratio, 2)) "
        + "(\(text(ratios[0], 2))–\(text(ratios[ratios.count - 1], 2))) | \(ratio > bar ? "MISSED" : "≤ \(bar)") |")
  }
  if isMissed { exit(1) }
}

if CommandLine.arguments.dropFirst().first == "fake" {
  try await serve()
} else {
  try await measure()
}
