// What the C server and client share: sd-bus calls that end the program when they fail, and waiting on a socket.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define LONGEST_VALUE 512

static inline void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static inline int checked(int result, const char *what) {
  if (result < 0) fail(what, strerror(-result));
  return result;
}

// Waits until one of the two has something; `timeout` in milliseconds, -1 for ever.
static inline void wait_for(struct pollfd *ends, nfds_t count, int timeout) {
  int ready;
  do ready = poll(ends, count, timeout);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) fail("waiting", "nothing came");
  if (ready < 0) fail("waiting", strerror(errno));
}
