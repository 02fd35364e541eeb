// Loaded into btvirt (LD_PRELOAD): lets 10 ms pass before a scan for devices hears an advertisement, as between two on a
// real radio.
//
// btvirt reports an advertisement once for each scan, 0.3 ms after its answer that the scan has begun. bluetoothd 5.82 drops
// a report that it reads before the kernel has answered its own command, and the kernel of a busy guest had not: the scan
// then heard nothing. To give btvirt the least priority instead was not enough, and made it report the end of a connection
// so late at the other end that the next attempt to connect failed, which Linux never forgets (docs/bluez-versions.md).
//
// The passive scan by which the kernel waits for a device that it connects to is not delayed: the peer might stop to
// advertise meanwhile, with the same result.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/uio.h>
#include <time.h>

enum { COMMAND_PACKET = 0x01, EVENT_PACKET = 0x04, LE_META_EVENT = 0x3e, ADVERTISING_REPORT = 0x02, ACTIVE = 1, FILES = 64 };

typedef ssize_t Read(int file, void *bytes, size_t length);
typedef ssize_t Write(int file, const struct iovec *parts, int count);

// Whether the last scan of the controller with this file was active. btvirt has one thread.
static unsigned char is_active[FILES];

static int is_counted(int file) { return file >= 0 && file < FILES; }

// The command LE Set Scan Parameters (0x200b): its kind, the operation, its length, the kind of scan.
ssize_t read(int file, void *bytes, size_t length) {
  static Read *real;
  if (!real) real = (Read *)dlsym(RTLD_NEXT, "read");
  ssize_t count = real(file, bytes, length);
  const unsigned char *command = bytes;
  if (count > 4 && is_counted(file) && command[0] == COMMAND_PACKET && command[1] == 0x0b && command[2] == 0x20)
    is_active[file] = command[4] == ACTIVE;
  return count;
}

// The first bytes of a packet: its kind, the event, its length, the LE event.
static int is_report(const struct iovec *parts, int count) {
  unsigned char head[4];
  size_t length = 0;
  for (int part = 0; part < count; part++)
    for (size_t place = 0; place < parts[part].iov_len && length < sizeof head; place++)
      head[length++] = ((const unsigned char *)parts[part].iov_base)[place];
  return length == sizeof head && head[0] == EVENT_PACKET && head[1] == LE_META_EVENT && head[3] == ADVERTISING_REPORT;
}

// With this call btvirt sends all its packets to the kernel.
ssize_t writev(int file, const struct iovec *parts, int count) {
  static Write *real;
  if (!real) real = (Write *)dlsym(RTLD_NEXT, "writev");
  if (is_counted(file) && is_active[file] && is_report(parts, count))
    nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
  return real(file, parts, count);
}
