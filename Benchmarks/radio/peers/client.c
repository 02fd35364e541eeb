// The plain C yardstick, client: writes and notifications over the sockets of AcquireWrite and AcquireNotify.
//   client REQUEST_PATH RESPONSE_PATH trips N         N values of 20 bytes, each written when the last one came back
//   client REQUEST_PATH RESPONSE_PATH reply TEXT N    one write of TEXT; from the first value to the Nth byte
// Prints "ready", waits for a line, then prints what it measured: microseconds, one a line, and an empty line.
#include "link.h"
#include <sys/socket.h>
#include <time.h>

enum { WARM_UP = 20, TRIP = 20, PATIENCE = 30000 };

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

int main(int argc, char **argv) {
  int trips = argc == 5 && !strcmp(argv[3], "trips"), reply = argc == 6 && !strcmp(argv[3], "reply");
  if (!trips && !reply) fail("usage", "client REQUEST_PATH RESPONSE_PATH trips N | reply TEXT N");
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
