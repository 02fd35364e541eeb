// Pairs with a device; where both sides can, the users compare a number.
//
//     Bond ADDRESS [ADAPTER]
import BlueZ
import Glibc

let words = CommandLine.arguments.dropFirst()
guard let address = words.first.flatMap(BluetoothAddress.init) else {
  print("usage: Bond ADDRESS [ADAPTER]")
  exit(2)
}
await Session.runProgram { session in
  let adapter = try await session.adapter(words.dropFirst().first)
  try await adapter.setPowered(true)

  let agent = try await session.register(
    PairingAgent(
      displayPasskey: { print("enter \($1) on \($0)") },
      confirmPasskey: { device, passkey in
        print("does \(device) show \(passkey)? yes or no")
        return readLine() == "yes"
      }))
  try await adapter.find(address).pair()
  print("bonded:", adapter.device(address)?.isBonded == true)
  try await agent.unregister()
}
