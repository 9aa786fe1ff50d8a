#include "filters.h"

#include <algorithm>

namespace sluice {

bool Match::matches(const Address& address, const std::string* name) const {
  if (prefix && !prefix->contains(address)) return false;
  if (host && (name == nullptr || *name != *host)) return false;
  return !ports || (address.port >= ports->first && address.port <= ports->second);
}

Reason Filter::check(const Address& address, const std::string* name) const {
  const auto matches = [&](const Match& match) { return match.matches(address, name); };
  if (std::ranges::any_of(deny, matches)) return refusal;
  return !allow || std::ranges::any_of(*allow, matches) ? kNoReason : refusal;
}

Reason Filters::check_source(const Address& address) const {
  return source ? source->check(address, nullptr) : kNoReason;
}

Reason Filters::check_target(const Address& address, const std::string& name) const {
  for (const Filter& filter : target)
    if (const Reason refusal = filter.check(address, &name)) return refusal;
  return kNoReason;
}

}  // namespace sluice
