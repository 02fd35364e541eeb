#include <soxr.h>

// Swift cannot tell libsoxr's functions from the types of the same names.

// Makes a resampler of one channel of 16 bits. Without dither the same samples make the same bytes each time.
static inline soxr_t edgeblue_soxr_create(double input_rate, double output_rate, soxr_error_t *error) {
  soxr_io_spec_t samples = soxr_io_spec(SOXR_INT16_I, SOXR_INT16_I);
  samples.flags = SOXR_NO_DITHER;
  soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  return soxr_create(input_rate, output_rate, 1, error, &samples, &quality, NULL);
}
