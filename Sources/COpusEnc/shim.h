#include <opusenc.h>

// Swift cannot call functions with a variable number of arguments.

static inline int edgeblue_opusenc_set(OggOpusEnc *encoder, int bits_per_second, int serial_number) {
  int result = ope_encoder_ctl(encoder, OPUS_SET_BITRATE(bits_per_second));
  if (result == OPE_OK) result = ope_encoder_ctl(encoder, OPUS_SET_SIGNAL(OPUS_SIGNAL_VOICE));
  if (result == OPE_OK) result = ope_encoder_ctl(encoder, OPE_SET_SERIALNO(serial_number));
  return result;
}
