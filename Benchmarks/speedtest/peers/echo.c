// echo PORT: returns each datagram to its sender, until the process that started it ends.
// echo PORT ADDRESS COUNT: sends so many datagrams there, each after the reply to the one before, and prints the median of
// the round trips in nanoseconds.
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

static int serve(int s, struct sockaddr_in *here) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (bind(s, (struct sockaddr *)here, sizeof *here)) return fail("bind");
  for (;;) {
    char datagram[64];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t count = recvfrom(s, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &size);
    if (count > 0) sendto(s, datagram, count, 0, (struct sockaddr *)&from, size);
  }
}

static int ascending(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

static int measure(int s, const struct sockaddr_in *there, int count) {
  struct timeval limit = {.tv_sec = 1};
  long *times = calloc(count, sizeof *times);
  int replies = 0;
  if (!times || connect(s, (const struct sockaddr *)there, sizeof *there)) return fail("connect");
  if (setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit)) return fail("setsockopt");
  for (int i = 0; i < count; i++) {
    char datagram[5] = "PING", reply[64];
    long begin = now();
    if (send(s, datagram, sizeof datagram, 0) == sizeof datagram && recv(s, reply, sizeof reply, 0) > 0) times[replies++] = now() - begin;
  }
  if (!replies) return fail("no reply");
  qsort(times, replies, sizeof *times, ascending);
  printf("%ld\n", times[replies / 2]);
  return 0;
}

int main(int count, char **words) {
  if (count != 2 && count != 4) return 64;
  int s = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
  if (s < 0) return fail("socket");
  if (count == 2) return serve(s, &address);
  if (inet_pton(AF_INET, words[2], &address.sin_addr) != 1) return 64;
  return measure(s, &address, atoi(words[3]));
}
