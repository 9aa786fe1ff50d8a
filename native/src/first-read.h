// Bytes that a proxy in front of the callers writes before a caller's first byte (agent/engine/first-read.ts).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "address.h"
#include "reasons.h"

namespace sluice {

struct FirstRead {
  std::vector<Prefix> from;
  Reason header = kNoReason;
  Reason untrusted = kNoReason;

  bool trusts(const Address& sender) const {
    return std::ranges::any_of(from, [&](const Prefix& prefix) { return prefix.contains(sender); });
  }
  bool operator==(const FirstRead& other) const = default;
};

/** A caller. `destination`: the address it connected to, if a header says so. */
struct NamedCaller {
  Address source;
  std::optional<Address> destination{};
};

}  // namespace sluice
