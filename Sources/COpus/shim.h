#include <opus.h>

// Swift cannot call functions with a variable number of arguments.

static inline int edgeblue_opus_decoder_reset(OpusDecoder *decoder) {
  return opus_decoder_ctl(decoder, OPUS_RESET_STATE);
}

// What the firmware of the wearables sets, for the tests that play one.
static inline int edgeblue_opus_encoder_set(OpusEncoder *encoder, int bits_per_second, int vbr, int complexity) {
  int result = opus_encoder_ctl(encoder, OPUS_SET_BITRATE(bits_per_second));
  if (result == OPUS_OK) result = opus_encoder_ctl(encoder, OPUS_SET_VBR(vbr));
  if (result == OPUS_OK) result = opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(complexity));
  return result;
}
