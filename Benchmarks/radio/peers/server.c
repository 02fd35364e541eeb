// The plain C yardstick, server: a GATT service whose values go over the sockets of AcquireWrite and AcquireNotify.
//   server ADAPTER        prints "ready" when it advertises; runs until it is killed
// A value of 20 bytes comes back as it is. "burst N" brings N bytes in values of 512, as fast as the socket takes them;
// "stream N S" brings N values of S bytes, each with its number, from 0, in the first four.
#include "link.h"
#include <fcntl.h>
#include <sys/socket.h>

#define SERVICE "/bench/service"
#define REQUEST SERVICE "/request"
#define RESPONSE SERVICE "/response"
#define ADVERTISEMENT "/bench/advertisement"

static int writes = -1, notifications = -1;

static int get_text(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                    void *data, sd_bus_error *error) {
  (void)bus, (void)interface, (void)data, (void)error;
  if (!strcmp(property, "Service")) return sd_bus_message_append(reply, "o", SERVICE);
  if (!strcmp(property, "Type")) return sd_bus_message_append(reply, "s", "peripheral");
  int which = !strcmp(path, REQUEST) ? 2 : !strcmp(path, RESPONSE) ? 3 : 1;
  char uuid[37];
  snprintf(uuid, sizeof uuid, "ec0d000%d-ec0d-ec0d-ec0d-ec0d000%dec0d", which, which);
  return sd_bus_message_append(reply, "s", uuid);
}

static int get_list(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                    void *data, sd_bus_error *error) {
  (void)bus, (void)interface, (void)property, (void)data, (void)error;
  if (!strcmp(path, ADVERTISEMENT)) return sd_bus_message_append(reply, "as", 1, "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d");
  return sd_bus_message_append(reply, "as", 1, strcmp(path, REQUEST) ? "notify" : "write-without-response");
}

static int get_flag(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                    void *data, sd_bus_error *error) {
  (void)bus, (void)path, (void)interface, (void)data, (void)error;
  return sd_bus_message_append(reply, "b", !strcmp(property, "Primary"));
}

// Gives bluetoothd one end of a new socket pair; the other one becomes *own.
static int acquire(sd_bus_message *call, int *own) {
  uint16_t mtu = 23;
  const char *key;
  checked(sd_bus_message_enter_container(call, 'a', "{sv}"), "options");
  while (sd_bus_message_enter_container(call, 'e', "sv") > 0) {
    checked(sd_bus_message_read(call, "s", &key), "option");
    if (!strcmp(key, "mtu")) checked(sd_bus_message_read(call, "v", "q", &mtu), "mtu");
    else checked(sd_bus_message_skip(call, "v"), "option");
    checked(sd_bus_message_exit_container(call), "option");
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return -errno;
  if (*own >= 0) close(*own);
  *own = ends[0];
  int result = sd_bus_reply_method_return(call, "hq", ends[1], mtu);
  close(ends[1]);
  return result;
}

static int acquire_write(sd_bus_message *call, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  return acquire(call, &writes);
}

static int acquire_notify(sd_bus_message *call, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  return acquire(call, &notifications);
}

static const sd_bus_vtable service_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("UUID", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("Primary", "b", get_flag, 0, 0),
    SD_BUS_VTABLE_END,
};
static const sd_bus_vtable request_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("UUID", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("Service", "o", get_text, 0, 0),
    SD_BUS_PROPERTY("Flags", "as", get_list, 0, 0),
    SD_BUS_PROPERTY("WriteAcquired", "b", get_flag, 0, 0),
    SD_BUS_METHOD("AcquireWrite", "a{sv}", "hq", acquire_write, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};
static const sd_bus_vtable response_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("UUID", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("Service", "o", get_text, 0, 0),
    SD_BUS_PROPERTY("Flags", "as", get_list, 0, 0),
    SD_BUS_PROPERTY("NotifyAcquired", "b", get_flag, 0, 0),
    SD_BUS_METHOD("AcquireNotify", "a{sv}", "hq", acquire_notify, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};
static const sd_bus_vtable advertisement_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Type", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("ServiceUUIDs", "as", get_list, 0, 0),
    SD_BUS_VTABLE_END,
};

static void send_value(const void *value, size_t count) {
  while (send(notifications, value, count, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) fail("notify", strerror(errno));
}

static void serve(void) {
  static uint8_t filler[LONGEST_VALUE];
  char value[LONGEST_VALUE + 1];
  ssize_t count = recv(writes, value, LONGEST_VALUE, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) {
    close(writes);
    writes = -1;
    return;
  }
  value[count] = 0;
  unsigned long left, size;
  if (sscanf(value, "stream %lu %lu", &left, &size) == 2 && size >= 4 && size <= LONGEST_VALUE) {
    for (uint32_t number = 0; number < left; number++) {
      memcpy(filler, &number, sizeof number);
      send_value(filler, size);
    }
    return;
  }
  if (sscanf(value, "burst %lu", &left) != 1) return send_value(value, (size_t)count);
  while (left > 0) {
    size_t part = left < LONGEST_VALUE ? left : LONGEST_VALUE;
    send_value(filler, part);
    left -= part;
  }
}

static int answered(sd_bus_message *reply, void *what, sd_bus_error *error) {
  (void)error;
  static int done;
  if (sd_bus_message_is_method_error(reply, NULL)) fail(what, sd_bus_message_get_error(reply)->message);
  if (++done == 2) puts("ready");
  fflush(stdout);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) fail("usage", "server ADAPTER");
  char adapter[64];
  snprintf(adapter, sizeof adapter, "/org/bluez/%s", argv[1]);
  sd_bus *bus;
  checked(sd_bus_open_system(&bus), "bus");
  checked(sd_bus_add_object_manager(bus, NULL, "/bench"), "object manager");
  checked(sd_bus_add_object_vtable(bus, NULL, SERVICE, "org.bluez.GattService1", service_table, NULL), "service");
  checked(sd_bus_add_object_vtable(bus, NULL, REQUEST, "org.bluez.GattCharacteristic1", request_table, NULL), "request");
  checked(sd_bus_add_object_vtable(bus, NULL, RESPONSE, "org.bluez.GattCharacteristic1", response_table, NULL), "response");
  checked(sd_bus_add_object_vtable(bus, NULL, ADVERTISEMENT, "org.bluez.LEAdvertisement1", advertisement_table, NULL), "advertisement");
  // Not waited for one by one: bluetoothd asks back while it handles them.
  checked(sd_bus_call_method_async(bus, NULL, "org.bluez", adapter, "org.bluez.GattManager1", "RegisterApplication",
                                   answered, "RegisterApplication", "oa{sv}", "/bench", 0), "RegisterApplication");
  checked(sd_bus_call_method_async(bus, NULL, "org.bluez", adapter, "org.bluez.LEAdvertisingManager1",
                                   "RegisterAdvertisement", answered, "RegisterAdvertisement", "oa{sv}", ADVERTISEMENT, 0),
          "RegisterAdvertisement");
  for (;;) {
    while (checked(sd_bus_process(bus, NULL), "bus") > 0) {}
    struct pollfd ends[] = {{sd_bus_get_fd(bus), POLLIN, 0}, {writes, POLLIN, 0}};
    wait_for(ends, 2, -1);
    if (ends[1].revents) serve();
  }
}
