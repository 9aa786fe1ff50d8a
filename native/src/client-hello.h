// Reads the server name of a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3). The input is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice {

struct ClientHello {
  enum class Kind : uint8_t {
    incomplete,  // more bytes are needed; every other kind is final
    named,
    nameless,
    not_tls,
  };
  Kind kind;
  std::string name;  // lower case, without a final dot

  /** A longer ClientHello is `not_tls`. */
  static constexpr size_t kMaxBytes = 64 * 1024;
  static ClientHello read(std::span<const uint8_t> bytes);
};

}  // namespace sluice
