// The reasons under which refusals are counted, as numbers: dense, for ever, one table an engine.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace sluice {

using Reason = uint32_t;
inline constexpr Reason kNoReason = 0;

class Reasons {
 public:
  Reason of(const std::string& words) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < words_.size(); i++)
      if (words_[i] == words) return static_cast<Reason>(i);
    words_.push_back(words);
    return static_cast<Reason>(words_.size() - 1);
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return words_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> words_{""};
};

}  // namespace sluice
