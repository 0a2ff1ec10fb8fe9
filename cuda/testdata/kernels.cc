// The kernels themselves, built for the CPU, and their names.
#include "shim.h"
//
#include "../bmma.cu"
#include "../imma.cu"
#include "../paper.cu"
#include "../popcount.cu"

struct Named {
  const char *name;
  void (*run)(const void *argument);
  unsigned bytes; // of the argument
};

#define SCAN(kernel) {#kernel, [](const void *argument) { kernel(*(const Launch *)argument); }, sizeof(Launch)}

extern const Named kernels_by_name[] = {
    SCAN(popcount1), SCAN(popcount2), SCAN(popcount4), SCAN(popcount8), SCAN(popcountn),
    SCAN(imma1), SCAN(imma2), SCAN(imma4), SCAN(imma8), SCAN(imma16), SCAN(imma32),
    SCAN(bmma2), SCAN(bmma4), SCAN(bmma8), SCAN(bmma16), SCAN(bmma32),
    {"paper", [](const void *argument) { paper(*(const Paper *)argument); }, sizeof(Paper)},
    {},
};
