// How fast the queue takes items in: each in a transaction of its own, on disk before the next. Prints items a second.
//
//     uploads-queue FOLDER COUNT
import Glibc
import Uploads

guard CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[2]), count > 0 else {
  print("usage: uploads-queue FOLDER COUNT")
  exit(2)
}
let folder = CommandLine.arguments[1]
let file = folder + "/one.wav"
guard let handle = fopen(file, "w"), fputs("not much", handle) >= 0, fclose(handle) == 0 else {
  print("\(file) cannot be written")
  exit(1)
}
var content = try ObjectContent(readingFile: file, contentType: "audio/wav")
content.metadata = ["captured-at": "2026-11-22T00:45:00.250Z", "device": "FA:0B:00:00:00:01"]
let store = try QueueStore(path: folder + "/uploads.sqlite")
let elapsed = try ContinuousClock().measure {
  for number in 0..<count {
    let key = "ada/fa-0b-00-00-00-01/2026-11-22/\(number).wav"
    try store.add([UploadRequest(content, bucket: "bench", key: key, account: "default")])
  }
}
guard try store.totals().items == [.waiting: count] else {
  print("not all of them are there")
  exit(1)
}
print(Double(count) / (elapsed / .seconds(1)))
