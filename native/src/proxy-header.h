// Reads a header of the PROXY protocol, version 1 or 2 (proxy-protocol.txt of HAProxy). It is untrusted input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "address.h"

namespace sluice {

struct ProxyHeader {
  enum class Kind : uint8_t {
    incomplete,  // more bytes are needed; every other kind is final
    wrong,
    unnamed,  // LOCAL: the sender itself is the caller
    named,
  };
  Kind kind = Kind::wrong;
  size_t size = 0;  // of the header; 0 unless it is whole and right
  Address source{};
  Address destination{};

  /** The transport that carries the header: a stream cannot carry a caller of datagrams. */
  enum class Carrier : uint8_t { stream, datagram };

  /** A longer header is `wrong`. */
  static constexpr size_t kMaxBytes = 536;
  static ProxyHeader read(std::span<const uint8_t> bytes, Carrier carrier);
  /** True if the bytes begin with the signature of version 2. */
  static bool is_binary(std::span<const uint8_t> bytes);
};

}  // namespace sluice
