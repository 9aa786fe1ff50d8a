#include "source-limits.h"

#include <algorithm>
#include <array>

namespace sluice {

Source Source::of(const Address& caller) {
  const Address host = caller.embedded_ipv4().value_or(caller);
  Source source{.family = host.family};
  std::copy_n(host.bytes.begin(), source.bytes.size(), source.bytes.begin());
  return source;
}

std::string Source::text() const {
  Address address{.family = family};
  std::ranges::copy(bytes, address.bytes.begin());
  return family == Family::v6 ? address.text() + "/64" : address.text();
}

bool OpenBySource::enter(const Source& source, int64_t max) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(source);
  if ((found == open_.end() ? 0 : found->second) >= max) return false;
  if (found == open_.end())
    open_.emplace(source, 1);
  else
    found->second++;
  return true;
}

void OpenBySource::leave(const Source& source) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(source);
  if (--found->second == 0) open_.erase(found);
}

SourceRates::Taken SourceRates::take(const void* owner, uint64_t limit, const Source& source, int64_t max,
                                     int64_t per_ms, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = bucket_of(owner, limit, source);
  const auto full = static_cast<double>(max);
  if (bucket.limit != limit || !(bucket.source == source))
    bucket = {.owner = owner, .limit = limit, .source = source, .tokens = full, .filled_ms = now_ms, .said_ms = now_ms - kSayAgainMs};
  const int64_t since_ms = std::max<int64_t>(now_ms - bucket.filled_ms, 0);
  bucket.tokens = std::min(full, bucket.tokens + full * static_cast<double>(since_ms) / static_cast<double>(per_ms));
  bucket.filled_ms = std::max(bucket.filled_ms, now_ms);
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return Taken::taken;
  }
  if (now_ms - bucket.said_ms < kSayAgainMs) return Taken::empty_again;
  bucket.said_ms = now_ms;
  return Taken::empty;
}

/** Returns the bucket; or of its set an unused one, or the least recently used one of the owner that has the most. */
SourceRates::Bucket& SourceRates::bucket_of(const void* owner, uint64_t limit, const Source& source) {
  if (buckets_.empty()) buckets_.resize(kSets * kWays);
  const size_t set = (source.hash() ^ (limit * 0x9e3779b97f4a7c15)) % kSets;
  const auto first = buckets_.begin() + static_cast<ptrdiff_t>(set * kWays);
  const auto end = first + kWays;
  const auto found = std::find_if(
      first, end, [&](const Bucket& bucket) { return bucket.limit == limit && bucket.source == source; });
  if (found != end) return *found;
  const auto is_unused = [](const Bucket& bucket) { return bucket.limit == 0; };
  if (const auto unused = std::find_if(first, end, is_unused); unused != end) return *unused;
  std::array<int64_t, kWays> counts{};
  for (size_t i = 0; i < kWays; i++)
    // The newcomer counts, so that an owner does not evict another one with as many.
    counts[i] = std::count_if(first, end, [&](const Bucket& other) { return other.owner == first[i].owner; }) +
                (first[i].owner == owner ? 1 : 0);
  size_t evicted = 0;
  for (size_t i = 1; i < kWays; i++)
    if (counts[i] > counts[evicted] || (counts[i] == counts[evicted] && first[i].filled_ms < first[evicted].filled_ms))
      evicted = i;
  return first[evicted];
}

}  // namespace sluice
