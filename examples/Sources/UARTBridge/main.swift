// A serial cable over an L2CAP channel: each end sends its standard input to the other, with flow control.
//
//     UARTBridge listen [ADAPTER]      the end that advertises
//     UARTBridge call [ADAPTER]        the end that connects, and closes the channel when its input ends
import BlueZ
import Foundation

let service: BluetoothUUID = "0a0b0c0d-7561-7274-6272-696467650001"
let psm: UInt16 = 0xd5

/// Returns the next bytes of standard input, read without blocking a task; empty at its end.
func input(atMost count: Int) async -> [UInt8] {
  await withCheckedContinuation { done in
    DispatchQueue.global().async {
      var bytes = [UInt8](repeating: 0, count: count)
      bytes.removeLast(count - max(read(STDIN_FILENO, &bytes, count), 0))
      done.resume(returning: bytes)
    }
  }
}

func call(from adapter: Adapter) async throws -> L2CAPChannel? {
  for await sighting in try await adapter.discover(.init(services: [service])) where !sighting.isLost {
    return try await sighting.device.openChannel(psm: psm)
  }
  return nil
}

func answer(at adapter: Adapter) async throws -> L2CAPChannel? {
  let listener = try adapter.listen(psm: psm)
  let advertisement = try await adapter.advertise(.init(name: "UART", services: [service]))
  for try await channel in listener {
    try await advertisement.stop()
    return channel
  }
  return nil
}

let words = CommandLine.arguments.dropFirst()
guard let word = words.first, ["listen", "call"].contains(word) else {
  print("usage: UARTBridge listen|call [ADAPTER]")
  exit(2)
}
await Session.runProgram { session in
  let adapter = try await session.adapter(words.dropFirst().first)
  try await adapter.setPowered(true)
  guard let channel = try await word == "call" ? call(from: adapter) : answer(at: adapter) else { exit(1) }

  // If sending fails, reading fails too, and reports the error.
  Task {
    while case let bytes = await input(atMost: channel.sendMTU), !bytes.isEmpty { try await channel.send(bytes) }
    if word == "call" {
      try await channel.flush()
      channel.close()
    }
  }
  for try await packet in channel.packets { FileHandle.standardOutput.write(Data(packet)) }
}
