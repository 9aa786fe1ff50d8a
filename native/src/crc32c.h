#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

namespace crc32c_detail {

/** The table of RFC 9260 appendix A, reflected. */
inline constexpr auto kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    table[byte] = crc;
  }
  return table;
}();

}  // namespace crc32c_detail

inline uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ crc32c_detail::kTable[(crc ^ static_cast<uint8_t>(byte)) & 255];
  return ~crc;
}

}  // namespace sluice
