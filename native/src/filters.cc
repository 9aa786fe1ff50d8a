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

Reason AddressGuard::check(const Address& address) const {
  const auto contains = [&](const auto& set) { return set->contains(address); };
  if (std::ranges::any_of(deny, contains)) return refusal;
  return !allow || std::ranges::any_of(*allow, contains) ? kNoReason : refusal;
}

bool AddressGuard::uses(const AddressSet& set) const {
  const auto is_it = [&](const auto& one) { return one.get() == &set; };
  return std::ranges::any_of(deny, is_it) || (allow && std::ranges::any_of(*allow, is_it));
}

Reason Filters::check_source(const Address& address) const {
  if (source)
    if (const Reason refused = source->check(address, nullptr)) return refused;
  for (const AddressGuard& guard : address_guards)
    if (const Reason refused = guard.check(address)) return refused;
  return kNoReason;
}

Reason Filters::recheck_source(const Address& address) const {
  if (source)
    if (const Reason refused = source->check(address, nullptr)) return refused;
  for (const AddressGuard& guard : address_guards)
    if (const Reason refused = guard.keeps_live ? kNoReason : guard.check(address)) return refused;
  return kNoReason;
}

Reason Filters::check_target(const Address& address, const std::string& name) const {
  for (const Filter& filter : target)
    if (const Reason refusal = filter.check(address, &name)) return refusal;
  return kNoReason;
}

}  // namespace sluice
