// pinger PORT COUNT MICROSECONDS: the plainest client of pings: it sends, waits for the reply, and reads the clock before
// and after. Prints the round trips in nanoseconds.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int count, char **words) {
  if (count != 4) return 64;
  int s = socket(AF_INET, SOCK_DGRAM, 0), pings = atoi(words[2]), pause = atoi(words[3]);
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct timeval limit = {.tv_sec = 1};
  if (s < 0 || connect(s, (struct sockaddr *)&there, sizeof there) || setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit)) {
    perror("pinger");
    return 1;
  }
  long *times = calloc(pings, sizeof *times);
  for (int i = 0; i < pings; i++) {
    unsigned char request[24] = "RP01", reply[64];
    unsigned sequence = htonl(i);
    memcpy(request + 4, &sequence, 4);
    long begin = now();
    if (send(s, request, sizeof request, 0) == sizeof request && recv(s, reply, sizeof reply, 0) == 8) times[i] = now() - begin;
    usleep(pause);
  }
  for (int i = 0; i < pings; i++)
    if (times[i]) printf("%ld\n", times[i]);
  return 0;
}
