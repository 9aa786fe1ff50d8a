#include "filters.h"

#include <algorithm>

namespace sluice {

bool Match::matches(const Address& address, const std::string* name, LocalAddresses* local) const {
  if (prefix && !prefix->contains(address)) return false;
  if (host && (name == nullptr || *name != *host)) return false;
  if (ports && (address.port < ports->first || address.port > ports->second)) return false;
  return !is_own || (local != nullptr && local->include(address));
}

Reason Filter::check(const Address& address, const std::string* name, LocalAddresses* local) const {
  if (!allows(address, name, local)) return refusal;
  const auto embedded = address.embedded_ipv4();
  return !embedded || allows(*embedded, name, local) ? kNoReason : refusal;
}

bool Filter::allows(const Address& form, const std::string* name, LocalAddresses* local) const {
  const auto matches = [&](const Match& match) { return match.matches(form, name, local); };
  if (std::ranges::any_of(deny, matches)) return false;
  return !allow || std::ranges::any_of(*allow, matches);
}

Reason AddressGuard::check(const Address& address) const {
  if (!allows(address)) return refusal;
  const auto embedded = address.embedded_ipv4();
  return !embedded || allows(*embedded) ? kNoReason : refusal;
}

bool AddressGuard::allows(const Address& form) const {
  const auto contains = [&](const auto& set) { return set->contains(form); };
  if (std::ranges::any_of(deny, contains)) return false;
  return !allow || std::ranges::any_of(*allow, contains);
}

bool AddressGuard::uses(const AddressSet& set) const {
  const auto is_it = [&](const auto& one) { return one.get() == &set; };
  return std::ranges::any_of(deny, is_it) || (allow && std::ranges::any_of(*allow, is_it));
}

bool Divert::matches(const Address& source) const {
  const auto includes = [this](const Address& form) {
    return std::ranges::any_of(from, [&](const auto& set) { return set->contains(form); });
  };
  if (includes(source)) return true;
  const auto embedded = source.embedded_ipv4();
  return embedded && includes(*embedded);
}

Reason Filters::check_source(const Address& address) const {
  if (source)
    if (const Reason refused = source->check(address, nullptr, nullptr)) return refused;
  return check_guards(address);
}

Reason Filters::check_guards(const Address& address) const {
  for (const AddressGuard& guard : address_guards)
    if (const Reason refused = guard.check(address)) return refused;
  return kNoReason;
}

Reason Filters::recheck_source(const Address& address) const {
  if (source)
    if (const Reason refused = source->check(address, nullptr, nullptr)) return refused;
  for (const AddressGuard& guard : address_guards)
    if (const Reason refused = guard.keeps_live ? kNoReason : guard.check(address)) return refused;
  return kNoReason;
}

Reason Filters::check_target(const Address& address, const std::string& name, LocalAddresses& local) const {
  for (const Filter& filter : target)
    if (const Reason refusal = filter.check(address, &name, &local)) return refusal;
  return kNoReason;
}

}  // namespace sluice
