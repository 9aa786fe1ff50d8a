// Numbers the names under which refusals and diverted callers are counted. One table per engine; it only grows.
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
  /** Returns the number of a name; a new name gets the next number. */
  Reason id_of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < names_.size(); i++)
      if (names_[i] == name) return static_cast<Reason>(i);
    names_.push_back(name);
    return static_cast<Reason>(names_.size() - 1);
  }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_{""};
};

}  // namespace sluice
