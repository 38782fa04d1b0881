/* The same in C++: the program is one source. */
#include "consumer.c"
