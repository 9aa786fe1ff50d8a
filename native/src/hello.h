// The first thing a TLS client says (RFC 8446 4.1.2, RFC 6066 3), read for the name it asks for. Takes any
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice {

struct Hello {
  enum class Kind : uint8_t {
    incomplete,  // more bytes may make it any of the others, which stay
    named,
    nameless,
    not_tls,
  };
  Kind kind;
  std::string name;  // lower-case, without a final dot

  /** Beyond it nobody waits for the rest. */
  static constexpr size_t kMostBytes = 64 * 1024;
  static Hello read(std::span<const uint8_t> bytes);
};

}  // namespace sluice
