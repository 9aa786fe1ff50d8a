#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/** RFC 9260 appendix A, reflected; a bit at a time, since it is for few bytes once per connection. */
inline uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

}  // namespace sluice
