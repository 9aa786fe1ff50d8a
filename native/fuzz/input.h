// The fuzzer's input, read byte by byte, and the assertion of all fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace sluice::fake {

/** Aborts unless `condition` holds; `claim` is a sentence that says what should be true. */
inline void must(bool condition, const char* claim) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", claim);
  std::abort();
}

class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) {}
  uint8_t next() { return at_ == end_ ? 0 : *at_++; }
  bool has_ended() const { return at_ == end_; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace sluice::fake
