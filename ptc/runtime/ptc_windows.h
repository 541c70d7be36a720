// What Windows declares, without the words that it takes from everybody.
#ifndef PTC_WINDOWS_H
#define PTC_WINDOWS_H

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#undef far
#undef interface
#undef near
#undef small

#endif
