// libopus and nothing else: reads packets of 20 ms, each behind its length, and writes what it hears. The limit of what
// any recorder can reach.
#include <opus.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  if (count != 4) return 64;
  FILE *in = fopen(words[1], "rb"), *out = fopen(words[2], "wb");
  int error, rounds = atoi(words[3]);
  OpusDecoder *decoder = opus_decoder_create(16000, 1, &error);
  if (!in || !out || error != OPUS_OK) return 1;
  unsigned char length[2], packet[1500];
  int16_t samples[5760];
  for (int round = 0; round < rounds; round++) {
    rewind(in);
    while (fread(length, 1, 2, in) == 2) {
      size_t bytes = length[0] | length[1] << 8;
      if (bytes > sizeof packet || fread(packet, 1, bytes, in) != bytes) return 1;
      int made = opus_decode(decoder, packet, (opus_int32)bytes, samples, 5760, 0);
      if (made < 0 || fwrite(samples, 2, (size_t)made, out) != (size_t)made) return 1;
    }
  }
  return fclose(out) ? 1 : 0;
}
