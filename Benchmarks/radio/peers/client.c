// The plain C yardstick, client: writes and notifications over the sockets of AcquireWrite and AcquireNotify.
//   client REQUEST_PATH RESPONSE_PATH trips N         N values of 20 bytes, each written when the last one came back
//   client REQUEST_PATH RESPONSE_PATH reply TEXT N    one write of TEXT; from the first value to the Nth byte
//   client REQUEST_PATH RESPONSE_PATH stream N S MS   N numbered values of S bytes, pausing MS ms after a tenth of them
// Prints "ready", waits for a line, then prints what it measured: microseconds, one a line, and an empty line. For a
// stream these are the microseconds from the first value to the last, how many came, and how many it dropped itself.
#include "link.h"
#include <sys/socket.h>
#include <time.h>

enum { WARM_UP = 20, TRIP = 20, PATIENCE = 30000, SILENCE = 3000 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int acquire(sd_bus *bus, const char *path, const char *method) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *reply;
  if (sd_bus_call_method(bus, "org.bluez", path, "org.bluez.GattCharacteristic1", method, &error, &reply, "a{sv}", 0) < 0)
    fail(method, error.message);
  int fd;
  uint16_t mtu;
  checked(sd_bus_message_read(reply, "hq", &fd, &mtu), method);
  fd = dup(fd);
  sd_bus_message_unref(reply);
  return checked(fd, method);
}

static size_t next_value(int notifications, void *value) {
  struct pollfd end = {notifications, POLLIN, 0};
  wait_for(&end, 1, PATIENCE);
  ssize_t count = recv(notifications, value, LONGEST_VALUE, 0);
  if (count <= 0) fail("notifications", count ? strerror(errno) : "the link ended");
  return (size_t)count;
}

static void put(int writes, const void *value, size_t count) {
  if (send(writes, value, count, MSG_NOSIGNAL) < 0) fail("write", strerror(errno));
}

static void trip(int writes, int notifications, uint8_t number) {
  uint8_t sent[TRIP], came[LONGEST_VALUE];
  memset(sent, number, sizeof sent);
  put(writes, sent, sizeof sent);
  if (next_value(notifications, came) != TRIP || memcmp(sent, came, TRIP)) fail("trip", "another value came back");
}

// Reads until the last value, or until nothing comes any more: bluetoothd drops what a slow reader leaves in the socket.
static void stream(int writes, int notifications, long wanted, const char *size, long pause) {
  uint8_t value[LONGEST_VALUE];
  char request[64];
  snprintf(request, sizeof request, "stream %ld %s", wanted, size);
  put(writes, request, strlen(request));
  double begun = 0, last = 0;
  long came = 0;
  struct pollfd end = {notifications, POLLIN, 0};
  for (uint32_t number = 0; (long)number + 1 < wanted && (!came || poll(&end, 1, SILENCE) > 0);) {
    next_value(notifications, value);
    memcpy(&number, value, sizeof number);
    last = seconds();
    if (!came++) begun = last;
    if (came == wanted / 10 && pause) usleep((useconds_t)pause * 1000);
  }
  printf("%.1f\n%ld\n0\n", (last - begun) * 1e6, came);
}

int main(int argc, char **argv) {
  int trips = argc == 5 && !strcmp(argv[3], "trips"), reply = argc == 6 && !strcmp(argv[3], "reply");
  int streams = argc == 7 && !strcmp(argv[3], "stream");
  if (!trips && !reply && !streams)
    fail("usage", "client REQUEST_PATH RESPONSE_PATH trips N | reply TEXT N | stream N S MS");
  sd_bus *bus;
  checked(sd_bus_open_system(&bus), "bus");
  int notifications = acquire(bus, argv[2], "AcquireNotify"), writes = acquire(bus, argv[1], "AcquireWrite");
  for (int i = 0; trips && i < WARM_UP; i++) trip(writes, notifications, (uint8_t)i);
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 1;

  if (trips) {
    int count = atoi(argv[4]);
    double *took = calloc((size_t)count, sizeof *took);
    if (!took) fail("memory", "none");
    for (int i = 0; i < count; i++) {
      double begun = seconds();
      trip(writes, notifications, (uint8_t)i);
      took[i] = seconds() - begun;
    }
    for (int i = 0; i < count; i++) printf("%.1f\n", took[i] * 1e6);
  } else if (streams) {
    stream(writes, notifications, atol(argv[4]), argv[5], atol(argv[6]));
  } else {
    uint8_t value[LONGEST_VALUE];
    size_t wanted = (size_t)atol(argv[5]);
    put(writes, argv[4], strlen(argv[4]));
    // From the first value on: what comes before is the making of the reply, not its way.
    size_t came = next_value(notifications, value);
    double begun = seconds();
    while (came < wanted) came += next_value(notifications, value);
    printf("%.1f\n", (seconds() - begun) * 1e6);
  }
  puts("");
  fflush(stdout);
  getchar();  // what it used is looked up in /proc before it goes
}
