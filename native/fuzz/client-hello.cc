// Any bytes at all as the first thing a caller says: nothing is read past them, and what is known once stays
// known.
#include "../src/client-hello.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

using sluice::ClientHello;

namespace {

/** In memory of its own, so that one byte too far is noticed. */
ClientHello read_copy(const uint8_t* data, size_t size) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  std::copy(data, data + size, copy.get());
  return ClientHello::read({copy.get(), size});
}

void must(bool is_so) {
  if (!is_so) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ClientHello whole = read_copy(data, size);
  must((whole.kind == ClientHello::Kind::named) == !whole.name.empty());
  must(whole.name.size() <= size);
  // Halves, then quarters of what is left: a few prefixes a run, others in the next.
  for (size_t part = size / 2; part > 0; part /= 2) {
    const ClientHello early = read_copy(data, size - part);
    must(early.kind == ClientHello::Kind::incomplete || (early.kind == whole.kind && early.name == whole.name));
  }
  return 0;
}
