// For libraries to be preloaded: the function that one of them replaces.
#include <dlfcn.h>

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
