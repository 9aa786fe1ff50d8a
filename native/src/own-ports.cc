#include "own-ports.h"

#include <algorithm>

namespace sluice {

namespace {

/** Linux connects to the loopback address when the unspecified address is dialed. */
Address dialed_address(Address address) {
  if (address.is_unspecified())
    address.bytes = Address::parse(address.family == Family::v4 ? "127.0.0.1" : "::1")->bytes;
  return address;
}

bool is_bound(const Address& target, const std::vector<Address>& bind, LocalAddresses& local) {
  const Address address = dialed_address(target);
  return std::ranges::any_of(bind, [&](const Address& own) {
    return own.same_host(address) ||
           (own.is_unspecified() && own.family == address.family && local.include(address));
  });
}

}  // namespace

bool OwnPorts::includes(const Address& target, const std::vector<Address>& bind, LocalAddresses& local) const {
  if (counts_[target.port].load(std::memory_order_relaxed) == 0) return false;
  const auto embedded = target.embedded_ipv4();
  return is_bound(target, bind, local) || (embedded && is_bound(*embedded, bind, local));
}

}  // namespace sluice
