// SHA-256 (FIPS 180-4) of bytes, as hexadecimal digits.
#ifndef PTC_EXECUTOR_SHA256_H
#define PTC_EXECUTOR_SHA256_H

#include <string>
#include <string_view>

namespace ptc::exec {

std::string sha256(std::string_view bytes);

}  // namespace ptc::exec

#endif
