// Answers the pings of a coverage client on a port of 127.0.0.1, whatever their token. Prints the port.
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int main(void) {
  int s = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
  socklen_t size = sizeof here;
  if (s < 0 || bind(s, (struct sockaddr *)&here, size) || getsockname(s, (struct sockaddr *)&here, &size)) {
    perror("responder");
    return 1;
  }
  printf("%d\n", ntohs(here.sin_port));
  fflush(stdout);
  for (;;) {
    unsigned char request[64];
    size = sizeof from;
    if (recvfrom(s, request, sizeof request, 0, (struct sockaddr *)&from, &size) != 24 || memcmp(request, "RP01", 4)) continue;
    memcpy(request, "RR01", 4);
    sendto(s, request, 8, 0, (struct sockaddr *)&from, size);
  }
}
