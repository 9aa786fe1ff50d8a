// Takes from 70,000 sources of ann after one source each of ten other owners, and prints of how many of these ten sources
// the bucket is still empty.
#include <cstdio>

#include "../src/source-limits.h"

using sluice::Source;
using sluice::SourceRates;

int main() {
  constexpr int kOthers = 10;
  constexpr int64_t kHourMs = 3'600'000;
  SourceRates rates;
  const char owners[kOthers + 1] = {};
  const auto take = [&](int owner, uint32_t number, int64_t now_ms) {
    Source source;
    for (int i = 0; i < 4; i++) source.bytes[i] = static_cast<uint8_t>(number >> 8 * i);
    return rates.take(&owners[owner], static_cast<uint64_t>(owner + 1), source, 1, kHourMs, now_ms);
  };
  for (int other = 1; other <= kOthers; other++) take(other, 7, 1);
  for (uint32_t number = 0; number < 70'000; number++) take(0, number, 2);
  int counted = 0;
  for (int other = 1; other <= kOthers; other++)
    if (take(other, 7, 3) != SourceRates::Taken::taken) counted++;
  printf("%d\n", counted);
}
