#include "local-addresses.h"

#include <algorithm>
#include <array>

namespace sluice {

bool LocalAddresses::include(const Address& address) {
  if (address.is_unspecified() || address.is_loopback()) return true;
  if (!is_current_) {
    is_current_ = watch_changes();  // before listing, so that no change is missed
    addresses_ = sys::local_addresses();
  }
  return std::ranges::any_of(addresses_, [&](const Address& own) { return own.same_host(address); });
}

bool LocalAddresses::watch_changes() {
  if (changes_) return true;
  if (sys::open_address_changes(changes_) < 0) return false;
  if (loop_.watch(changes_.get(), *this, EPOLLIN) == 0) return true;
  changes_.close();
  return false;
}

/** Any message means a change, and so does a full queue (ENOBUFS). */
void LocalAddresses::ready(uint32_t) {
  std::array<char, 4096> message;
  ssize_t count = 0;
  do count = sys::receive(changes_.get(), message.data(), message.size());
  while (count > 0 || count == -EINTR || count == -ENOBUFS);
  is_current_ = false;
}

}  // namespace sluice
