#include <openjpeg.h>

// OpenJPEG's parameters hold texts of 4096 bytes, which Swift expands to tuples of as many elements.
// Each function here sets a few of them.

static inline OPJ_BOOL pipeline_openjpeg_set_up_decoder(opj_codec_t *codec) {
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  return opj_setup_decoder(codec, &parameters);
}

// For samples in tests: without losses, and without mixing components; tiles of 0 are one tile.
static inline OPJ_BOOL pipeline_openjpeg_set_up_encoder(
    opj_codec_t *codec, opj_image_t *image, int resolutions, int tile) {
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.tcp_rates[0] = 0;
  parameters.tcp_mct = 0;
  parameters.numresolution = resolutions;
  parameters.tile_size_on = tile > 0;
  parameters.cp_tdx = parameters.cp_tdy = tile;
  return opj_setup_encoder(codec, &parameters, image);
}
