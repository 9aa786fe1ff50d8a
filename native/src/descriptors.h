// Counts the descriptors that the engine may still open, so that it refuses traffic before EMFILE. The owners of rules
// share them: each can use free ones, but has a right to an equal share only.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "sys.h"

namespace sluice {

class DescriptorShare;

class Descriptors {
 public:
  /** `on_owed` is called on any thread: the owner must end connections, see `DescriptorShare::claim`. */
  explicit Descriptors(std::function<void(std::shared_ptr<DescriptorShare>)> on_owed) : on_owed_(std::move(on_owed)) {}
  void init() { available_ = limit_ = sys::descriptor_limit() - sys::descriptors_in_use() - kSpare; }
  /** Reserves all of `count`, or returns false and reserves none. */
  bool reserve(int64_t count) {
    if (available_.fetch_sub(count, std::memory_order_relaxed) >= count) return true;
    release(count);
    return false;
  }
  void release(int64_t count) { available_.fetch_add(count, std::memory_order_relaxed); }
  /** Returns what all rules of this owner share. */
  std::shared_ptr<DescriptorShare> share_of(const std::string& owner);

 private:
  friend class DescriptorShare;
  /** Left for files, the control stream, and the agent's probes of rules without traffic. */
  static constexpr int64_t kSpare = 64;

  /** True if three quarters are in use: the rest is for owners below their share. */
  bool is_crowded() const { return available_.load(std::memory_order_relaxed) * 4 < limit_; }
  /** The part that each owner may always have. An only owner may have all. */
  int64_t share() const {
    const int64_t owners = owners_.load(std::memory_order_relaxed);
    return owners > 1 ? limit_ / owners : std::numeric_limits<int64_t>::max();
  }
  inline void take_back(int64_t count);

  const std::function<void(std::shared_ptr<DescriptorShare>)> on_owed_;
  int64_t limit_ = 0;
  std::atomic<int64_t> available_{0};
  std::atomic<int64_t> owners_{0};  // with rules
  std::mutex mutex_;                // guards `shares_`
  std::map<std::string, std::weak_ptr<DescriptorShare>> shares_;
};

/** The descriptors in use for the rules of one owner. Exists as long as one of its rules. */
class DescriptorShare : public std::enable_shared_from_this<DescriptorShare> {
 public:
  explicit DescriptorShare(Descriptors& all) : all_(all) { all_.owners_.fetch_add(1); }
  ~DescriptorShare() { all_.owners_.fetch_sub(1); }
  DescriptorShare(const DescriptorShare&) = delete;
  DescriptorShare& operator=(const DescriptorShare&) = delete;

  enum class Grant : uint8_t { reserved, none_left, share_used };
  /** Reserves all of `count`, or none. */
  Grant reserve(int64_t count) {
    if (!charge(count)) return Grant::share_used;
    const bool is_reserved = all_.reserve(count);
    // From here on the last quarter is free or taken back: ending connections on other threads needs time.
    if (used_.load(std::memory_order_relaxed) <= all_.share() && all_.is_crowded()) all_.take_back(count);
    if (is_reserved) return Grant::reserved;
    discharge(count);
    return Grant::none_left;
  }
  void release(int64_t count) {
    discharge(count);
    all_.release(count);
  }
  /** Reserves one that cannot be claimed back, so only within the owner's part. Returns false if none is left. */
  bool reserve_own() { return used_.load(std::memory_order_relaxed) < all_.share() && reserve(1) == Grant::reserved; }
  /** Reserves one for a health probe. Returns false if none is left, or if `kMaxProbes` of the owner are in progress. */
  bool reserve_probe() {
    if (probes_.fetch_add(1, std::memory_order_relaxed) < kMaxProbes && reserve_own()) return true;
    probes_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  void release_probe() {
    probes_.fetch_sub(1, std::memory_order_relaxed);
    release(1);
  }
  /** Counts descriptors that are reserved already as this owner's. Returns false when its share is used up. */
  bool charge(int64_t count) {
    const int64_t used = used_.fetch_add(count, std::memory_order_relaxed) + count;
    if (used <= all_.share() || !all_.is_crowded()) return true;
    discharge(count);
    return false;
  }
  void discharge(int64_t count) { used_.fetch_sub(count, std::memory_order_relaxed); }
  /** Returns true if the owner must end a connection that uses `count` descriptors. */
  bool claim(int64_t count) {
    int64_t owed = owed_.load();
    while (owed > 0)
      if (owed_.compare_exchange_weak(owed, owed - count)) return true;
    return false;
  }

 private:
  friend class Descriptors;
  static constexpr int64_t kMaxProbes = 256;
  Descriptors& all_;
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> probes_{0};
  std::atomic<int64_t> owed_{0};  // descriptors to free for owners below their share
};

inline std::shared_ptr<DescriptorShare> Descriptors::share_of(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  if (auto existing = shares_[owner].lock()) return existing;
  std::erase_if(shares_, [](const auto& one) { return one.second.expired(); });
  const auto share = std::make_shared<DescriptorShare>(*this);
  shares_[owner] = share;
  return share;
}

/** Makes the owner that is furthest beyond its share free descriptors. */
void Descriptors::take_back(int64_t count) {
  std::shared_ptr<DescriptorShare> largest;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [owner, weak] : shares_)
      if (auto share = weak.lock(); share && (!largest || share->used_.load() > largest->used_.load()))
        largest = std::move(share);
  }
  const int64_t excess = largest ? largest->used_.load() - share() : 0;
  if (excess <= 0) return;
  int64_t owed = largest->owed_.load();
  while (!largest->owed_.compare_exchange_weak(owed, std::min(std::max<int64_t>(owed, 0) + count, excess)));
  on_owed_(std::move(largest));
}

}  // namespace sluice
