// C sd-bus client:  client_sdbus ADDRESS CASE COUNT
#include "bench.h"
#include <systemd/sd-bus.h>

static sd_bus *bus;
static unsigned outstanding, done, sum;
static uint8_t payload[ECHO_BYTES];

static void check(int r, const char *what) {
  if (r < 0) fail(what, strerror(-r));
}

static void step(void) {
  int r = sd_bus_process(bus, NULL);
  if (r == 0) r = sd_bus_wait(bus, UINT64_MAX);
  check(r, "process");
}

static int on_reply(sd_bus_message *m, void *want_bytes, sd_bus_error *error) {
  (void)error;
  if (sd_bus_message_is_method_error(m, NULL)) fail("call", sd_bus_message_get_error(m)->message);
  if (want_bytes) {
    const void *bytes;
    size_t count;
    check(sd_bus_message_read_array(m, 'y', &bytes, &count), "read");
    if (count != ECHO_BYTES) fail("echo", "wrong length");
  }
  outstanding--;
  done++;
  return 0;
}

static void concurrent(unsigned count, int echo, unsigned window) {
  unsigned sent = 0;
  done = 0;
  while (done < count) {
    while (sent < count && outstanding < window) {
      sd_bus_message *m = NULL;
      check(sd_bus_message_new_method_call(bus, &m, NAME, PATH, INTERFACE, echo ? "Echo" : "Ping"), "new");
      if (echo) check(sd_bus_message_append_array(m, 'y', payload, sizeof payload), "append");
      check(sd_bus_call_async(bus, NULL, m, on_reply, echo ? payload : NULL, 0), "call");
      sd_bus_message_unref(m);
      sent++;
      outstanding++;
    }
    step();
  }
}

// Reads every value of a message once, as a client that fills a cache must.
static void walk(sd_bus_message *m) {
  char type;
  const char *contents;
  while (sd_bus_message_peek_type(m, &type, &contents) > 0) {
    if (strchr("aevr", type)) {
      check(sd_bus_message_enter_container(m, type, contents), "enter");
      walk(m);
      check(sd_bus_message_exit_container(m), "exit");
    } else {
      uint64_t number;
      check(sd_bus_message_read_basic(m, type, &number), "read");
      sum++;
    }
  }
}

static void managed(unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    sd_bus_message *reply = NULL;
    check(sd_bus_call_method(bus, NAME, PATH, INTERFACE, "Managed", NULL, &reply, ""), "Managed");
    walk(reply);
    sd_bus_message_unref(reply);
  }
}

static unsigned ticks;
static int on_tick(sd_bus_message *m, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  uint32_t number;
  const void *bytes;
  size_t count;
  check(sd_bus_message_read(m, "u", &number), "read");
  check(sd_bus_message_read_array(m, 'y', &bytes, &count), "read");
  if (number != ticks++ || count != TICK_BYTES) fail("signals", "out of order");
  return 0;
}

static void signals(unsigned count) {
  ticks = 0;
  outstanding = 1;
  check(sd_bus_call_method_async(bus, NULL, NAME, PATH, INTERFACE, "Burst", on_reply, NULL, "u", count), "Burst");
  while (ticks < count || outstanding > 0) step();
}

static void run(const char *name, unsigned count) {
  if (!strcmp(name, "ping")) concurrent(count, 0, 1);
  else if (!strcmp(name, "ping64")) concurrent(count, 0, WINDOW);
  else if (!strcmp(name, "echo64")) concurrent(count, 1, WINDOW);
  else if (!strcmp(name, "managed")) managed(count);
  else if (!strcmp(name, "signals")) signals(count);
  else fail(name, "no such case");
}

int main(int argc, char **argv) {
  if (argc != 4) fail("usage", "client_sdbus ADDRESS CASE COUNT");
  unsigned count = (unsigned)atoi(argv[3]);
  check(sd_bus_new(&bus), "new");
  check(sd_bus_set_address(bus, argv[1]), "address");
  check(sd_bus_set_bus_client(bus, 1), "client");
  check(sd_bus_start(bus), "start");
  check(sd_bus_match_signal(bus, NULL, NAME, PATH, INTERFACE, "Tick", on_tick, NULL), "match");
  run(argv[2], count / 10 + 1);
  double wall = seconds(), cpu = cpu_seconds();
  run(argv[2], count);
  report(count, seconds() - wall, cpu_seconds() - cpu);
  sd_bus_flush_close_unref(bus);
}
