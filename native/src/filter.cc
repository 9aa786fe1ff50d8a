#include "filter.h"

#include <algorithm>

namespace sluice {

bool Match::fits(const Address& address, const std::string* name) const {
  if (prefix && !prefix->contains(address)) return false;
  if (host && (name == nullptr || *name != *host)) return false;
  return !ports || (address.port >= ports->first && address.port <= ports->second);
}

Reason Filter::judge(const Address& address, const std::string* name) const {
  const auto fits = [&](const Match& match) { return match.fits(address, name); };
  if (std::any_of(deny.begin(), deny.end(), fits)) return refusal;
  return !allow || std::any_of(allow->begin(), allow->end(), fits) ? kNoReason : refusal;
}

Reason Filters::judge_source(const Address& address) const {
  return source ? source->judge(address, nullptr) : kNoReason;
}

Reason Filters::judge_target(const Address& address, const std::string& name) const {
  for (const Filter& filter : target)
    if (const Reason refusal = filter.judge(address, &name)) return refusal;
  return kNoReason;
}

}  // namespace sluice
