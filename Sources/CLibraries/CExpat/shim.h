// expat's types. The library itself is opened with dlopen(3), by who reads XML.
#include <expat.h>
