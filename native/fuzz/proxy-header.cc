// Fuzzes ProxyHeader::read: it never reads out of bounds, and no further bytes change a final result.
#include "../src/proxy-header.h"

#include <algorithm>
#include <memory>

#include "input.h"

using sluice::ProxyHeader;
using sluice::fake::must;
using Kind = ProxyHeader::Kind;

namespace {

/** Copies to a buffer of exact size, so that AddressSanitizer sees a read past the end. */
ProxyHeader read_copy(const uint8_t* data, size_t size, ProxyHeader::Carrier carrier) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  std::copy(data, data + size, copy.get());
  return ProxyHeader::read({copy.get(), size}, carrier);
}

void check(const uint8_t* data, size_t size, ProxyHeader::Carrier carrier) {
  const ProxyHeader full = read_copy(data, size, carrier);
  const bool is_right = full.kind == Kind::unnamed || full.kind == Kind::named;
  must(is_right == (full.size > 0), "only a right header has a size");
  must(full.size <= std::min(size, ProxyHeader::kMaxBytes), "a header is part of the input, and bounded");
  must(full.kind != Kind::incomplete || size < ProxyHeader::kMaxBytes, "long input is judged");
  const bool is_one_family = full.source.family == full.destination.family;
  must(full.kind != Kind::named || is_one_family, "a connection has one family");
  for (size_t end = 0; end < std::min(size, ProxyHeader::kMaxBytes + 1); end++) {
    const ProxyHeader partial = read_copy(data, end, carrier);
    const bool is_same = partial.kind == full.kind && partial.size == full.size &&
                         partial.source == full.source && partial.destination == full.destination;
    must(partial.kind == Kind::incomplete || is_same, "further bytes do not change a final result");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check(data, size, ProxyHeader::Carrier::stream);
  check(data, size, ProxyHeader::Carrier::datagram);
  return 0;
}
