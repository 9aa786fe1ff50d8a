// What the fuzzer says, read byte by byte; and what must be so whatever it says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace sluice::fake {

inline void must(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "not so: %s\n", what);
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
