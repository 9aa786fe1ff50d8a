#include "address-set.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>

namespace sluice {

uint64_t hash_bytes(const uint8_t* bytes, size_t size) {
  static const uint64_t seed = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  uint64_t hash = seed;
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, size - at));
    const auto product = static_cast<unsigned __int128>(hash ^ word) * 0x9e3779b97f4a7c15;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  return hash;
}

void AddressSet::change(const std::vector<Prefix>& add, const std::vector<Prefix>& remove) {
  const std::unique_lock lock(mutex_);
  for (const Prefix& prefix : remove) {
    const auto found = by_length_.find({prefix.base.family, prefix.bits});
    if (found == by_length_.end()) continue;
    found->second.erase(masked(prefix.base.bytes, prefix.bits));
    if (found->second.empty()) by_length_.erase(found);
  }
  for (const Prefix& prefix : add)
    by_length_[{prefix.base.family, prefix.bits}].insert(masked(prefix.base.bytes, prefix.bits));
}

bool AddressSet::contains(const Address& address) const {
  const std::shared_lock lock(mutex_);
  return std::ranges::any_of(by_length_, [&](const auto& entry) {
    const auto& [length, prefixes] = entry;
    return length.first == address.family && prefixes.contains(masked(address.bytes, length.second));
  });
}

bool AddressSet::is_empty() const {
  const std::shared_lock lock(mutex_);
  return by_length_.empty();
}

AddressSet::Bytes AddressSet::masked(const Bytes& bytes, unsigned bits) {
  Bytes kept{};
  const unsigned whole = bits / 8;
  std::copy_n(bytes.begin(), whole, kept.begin());
  if (bits % 8 != 0) kept[whole] = static_cast<uint8_t>(bytes[whole] & (0xff << (8 - bits % 8)));
  return kept;
}

}  // namespace sluice
