// Limits per source of callers: an IPv4 address, or the /64 of an IPv6 address.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "address-set.h"
#include "reasons.h"

namespace sluice {

struct Source {
  std::array<uint8_t, 8> bytes{};  // IPv4 uses the first four; the others are 0
  Family family = Family::v4;

  static Source of(const Address& caller);
  bool operator==(const Source& other) const = default;
  uint64_t hash() const { return hash_bytes(bytes.data(), bytes.size()) ^ static_cast<uint64_t>(family); }
  std::string text() const;  // '192.0.2.7', '2001:db8::/64'

  struct Hash {
    size_t operator()(const Source& source) const { return source.hash(); }
  };
};

/** Counts the open connections of each source, over all rules with a limit of this name. */
class OpenBySource {
 public:
  /** Returns false when the source has `max` or more. */
  bool enter(const Source& source, int64_t max);
  void leave(const Source& source);

 private:
  std::mutex mutex_;
  std::unordered_map<Source, int64_t, Source::Hash> open_;  // of sources that have any
};

/**
 * Token buckets by limit and source, initially full, in a fixed-size table that all rules share. A full set of the table
 * evicts the least recently used bucket of the owner that has the most there; its source starts with a full bucket again.
 */
class SourceRates {
 public:
  enum class Taken : uint8_t { taken, empty, empty_again };  // again: reported less than a second ago

  /** `owner`: identifies the owner of the limit's rule. */
  Taken take(const void* owner, uint64_t limit, const Source& source, int64_t max, int64_t per_ms, int64_t now_ms);

 private:
  static constexpr size_t kWays = 8;
  static constexpr size_t kSets = 8'192;
  static constexpr int64_t kSayAgainMs = 1'000;
  struct Bucket {
    const void* owner = nullptr;
    uint64_t limit = 0;  // 0: unused
    Source source;
    double tokens = 0;
    int64_t filled_ms = 0;
    int64_t said_ms = 0;
  };
  Bucket& bucket_of(const void* owner, uint64_t limit, const Source& source);

  std::mutex mutex_;
  std::vector<Bucket> buckets_;  // made at the first use
};

struct SourceLimit {
  enum class Of : uint8_t { open, fresh, failed };
  Of of;
  std::string name;
  uint64_t id;                         // of the name
  std::shared_ptr<OpenBySource> open;  // of the name
  int64_t max;
  int64_t per_ms;
  Reason refusal;  // kNoReason: no refusal, only an event with the source
};

/** The slots that a connection or flow uses in the counts of its source. */
class SourceUses {
 public:
  SourceUses() = default;
  SourceUses(const SourceUses&) = delete;
  SourceUses& operator=(const SourceUses&) = delete;
  ~SourceUses() { release(); }

  void add(std::shared_ptr<OpenBySource> open, const Source& source) { uses_.emplace_back(std::move(open), source); }
  void release() {
    for (const auto& [open, source] : uses_) open->leave(source);
    uses_.clear();
  }

 private:
  std::vector<std::pair<std::shared_ptr<OpenBySource>, Source>> uses_;
};

}  // namespace sluice
