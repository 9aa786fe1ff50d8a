#include "shared.h"

#include <algorithm>

namespace sluice {

namespace {

/** Left for everything that is not forwarded traffic: files, the control stream, attempts that overlap. */
constexpr int64_t kSpare = 64;

bool is_local(const Address& address) {
  if (address.is_unspecified() || address.is_loopback()) return true;
  const auto own = sys::local_addresses();  // interfaces come and go
  return std::any_of(own.begin(), own.end(), [&](const Address& one) { return one.same_host(address); });
}

/** Dialling the unspecified address reaches the loopback address of its family. */
Address dialled(Address address) {
  if (address.is_unspecified())
    address.bytes = Address::parse(address.family == Family::v4 ? "127.0.0.1" : "::1")->bytes;
  return address;
}

}  // namespace

bool OwnPorts::includes(const Address& target, const std::vector<Address>& bind) const {
  if (held_[target.port].load(std::memory_order_relaxed) == 0) return false;
  const Address address = dialled(target);
  return std::any_of(bind.begin(), bind.end(), [&](const Address& own) {
    return own.same_host(address) ||
           (own.is_unspecified() && own.family == address.family && is_local(address));
  });
}

void Descriptors::open() { left_ = sys::descriptor_limit() - sys::descriptors_in_use() - kSpare; }

bool Descriptors::take(int64_t count) {
  if (left_.fetch_sub(count, std::memory_order_relaxed) >= count) return true;
  give(count);
  return false;
}

void Peeks::add(int64_t us) {
  const auto bound = std::find_if(kBoundsMs.begin(), kBoundsMs.end(),
                                  [&](double ms) { return static_cast<double>(us) <= ms * 1000; });
  counts[bound - kBoundsMs.begin()].fetch_add(1, std::memory_order_relaxed);
  sum_us.fetch_add(us, std::memory_order_relaxed);
}

Shared::Shared(std::vector<Address> bind, bool may_splice, std::function<void()> wake)
    : bind(std::move(bind)), may_splice(may_splice), events(std::move(wake)) {
  why = {reasons.of("loop"), reasons.of("descriptors"), reasons.of("sni_miss"), reasons.of("sni_timeout"),
         reasons.of("sni_overflow")};
}

}  // namespace sluice
