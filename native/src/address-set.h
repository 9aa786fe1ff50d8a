// A named set of address prefixes that rules share. It changes while callers are judged.
#pragma once

#include <map>
#include <shared_mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "address.h"

namespace sluice {

/** Hashes addresses and sources with a secret seed, because callers choose their addresses. */
uint64_t hash_bytes(const uint8_t* bytes, size_t size);

class AddressSet {
 public:
  void change(const std::vector<Prefix>& add, const std::vector<Prefix>& remove);
  /** One lookup for each length of prefix that the set has. */
  bool contains(const Address& address) const;
  bool is_empty() const;

 private:
  using Bytes = std::array<uint8_t, 16>;
  struct Hash {
    size_t operator()(const Bytes& bytes) const { return hash_bytes(bytes.data(), bytes.size()); }
  };
  using Length = std::pair<Family, unsigned>;
  static Bytes masked(const Bytes& bytes, unsigned bits);

  mutable std::shared_mutex mutex_;
  std::map<Length, std::unordered_set<Bytes, Hash>> by_length_;  // without empty sets
};

}  // namespace sluice
