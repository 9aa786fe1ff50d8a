// Bytes sent to the target before the caller's first: the rule defines the parts (agent/engine/preamble.ts), the caller
// the values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "address.h"

namespace sluice {

struct PreamblePart {
  enum class Kind : uint8_t {
    bytes,
    source_address,
    source_port,
    listen_address,
    listen_port,
    server_name,
    connection_id,
    length,      // of `parts`, which follow
    when_named,  // `parts`, for a caller with a server name
    crc32c,      // of the whole preamble
  };
  Kind kind;
  bool is_text = false;
  int length_bytes = 0;
  std::string bytes{};
  std::vector<PreamblePart> parts{};
};

struct Preamble {
  std::vector<PreamblePart> ipv4;
  std::vector<PreamblePart> ipv6;
  bool is_for_each_datagram = false;
  std::string probe;  // what a probe sends before it closes

  struct Values {
    Address source;
    Address listen;
    std::string_view server_name;
    std::array<char, 16> connection_id;
  };
  std::string write(const Values& values) const;
};

}  // namespace sluice
