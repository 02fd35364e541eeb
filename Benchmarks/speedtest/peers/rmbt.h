// What the client and the server of this yardstick share: blocking sockets, lines, and TLS by OpenSSL.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SIZE_MAX_CHUNK = 4194304, BUFFER = 262144 };
static const char commands[] = "ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT\n";

typedef struct {
  int socket;
  SSL *tls;
  char pending[4096];  // bytes behind a line
  int start, end;
} line_t;

static void fail(const char *what) {
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int receive_some(line_t *l, void *to, int count) {
  if (l->end > l->start) {
    int have = l->end - l->start;
    if (have > count) have = count;
    memcpy(to, l->pending + l->start, have);
    l->start += have;
    return have;
  }
  return l->tls ? SSL_read(l->tls, to, count) : (int)recv(l->socket, to, count, 0);
}

static int send_all(line_t *l, const void *from, size_t count) {
  const char *at = from;
  while (count) {
    int sent = l->tls ? SSL_write(l->tls, at, count > 1 << 20 ? 1 << 20 : (int)count) : (int)send(l->socket, at, count, MSG_NOSIGNAL);
    if (sent <= 0) return 0;
    at += sent;
    count -= sent;
  }
  return 1;
}

static int say(line_t *l, const char *text) { return send_all(l, text, strlen(text)); }

// Reads a line without its end; 0 at the end of the connection.
static int read_line(line_t *l, char *to, int size) {
  int length = 0;
  for (;;) {
    if (l->start == l->end) {
      l->start = l->end = 0;
      int got = l->tls ? SSL_read(l->tls, l->pending, sizeof l->pending) : (int)recv(l->socket, l->pending, sizeof l->pending, 0);
      if (got <= 0) return 0;
      l->end = got;
    }
    char c = l->pending[l->start++];
    if (c == '\n') {
      to[length] = 0;
      return 1;
    }
    if (length + 1 < size) to[length++] = c;
  }
}

static void *noise(size_t size) {
  unsigned char *bytes = malloc(size);
  uint64_t state = now() | 1;
  for (size_t i = 0; i < size; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    bytes[i] = (unsigned char)state;
  }
  return bytes;
}

// The marker after the given bytes of a stream of chunks: the end of the last chunk is at a multiple of the size.
static int is_last(const unsigned char *bytes, int got, uint64_t before, int size) {
  for (uint64_t end = (before / size + 1) * size; end <= before + got; end += size)
    if (bytes[end - before - 1] == 0xff) return 1;
  return 0;
}
