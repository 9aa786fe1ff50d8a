#include "source-limits.h"

#include <algorithm>

namespace sluice {

Source Source::of(const Address& caller) {
  Source source{.family = caller.family};
  std::copy_n(caller.bytes.begin(), source.bytes.size(), source.bytes.begin());
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

SourceRates::Taken SourceRates::take(uint64_t limit, const Source& source, int64_t max, int64_t per_ms,
                                     int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = bucket_of(limit, source);
  const auto full = static_cast<double>(max);
  if (bucket.limit != limit || !(bucket.source == source))
    bucket = {.limit = limit, .source = source, .tokens = full, .filled_ms = now_ms, .said_ms = now_ms - kSayAgainMs};
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

/** Returns the bucket, or the least recently used one of its set. */
SourceRates::Bucket& SourceRates::bucket_of(uint64_t limit, const Source& source) {
  if (buckets_.empty()) buckets_.resize(kSets * kWays);
  const size_t set = (source.hash() ^ (limit * 0x9e3779b97f4a7c15)) % kSets;
  const auto first = buckets_.begin() + static_cast<ptrdiff_t>(set * kWays);
  const auto end = first + kWays;
  const auto found = std::find_if(
      first, end, [&](const Bucket& bucket) { return bucket.limit == limit && bucket.source == source; });
  return found != end ? *found : *std::min_element(first, end, [](const Bucket& one, const Bucket& other) {
    return one.filled_ms < other.filled_ms;
  });
}

}  // namespace sluice
