// Fuzzes ClientHello::read: it never reads out of bounds, and no further bytes change a final result.
#include "../src/client-hello.h"

#include <algorithm>
#include <memory>

#include "input.h"

using sluice::ClientHello;
using sluice::fake::must;

namespace {

/** Copies to a buffer of exact size, so that AddressSanitizer sees a read past the end. */
ClientHello read_copy(const uint8_t* data, size_t size) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  std::copy(data, data + size, copy.get());
  return ClientHello::read({copy.get(), size});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ClientHello full = read_copy(data, size);
  must((full.kind == ClientHello::Kind::named) == !full.name.empty(), "only a named result has a name");
  must(full.name.size() <= size, "a name is part of the input");
  // Checks a few prefixes per run: without the last half, quarter and so on.
  for (size_t part = size / 2; part > 0; part /= 2) {
    const ClientHello partial = read_copy(data, size - part);
    const bool is_same = partial.kind == full.kind && partial.name == full.name;
    must(partial.kind == ClientHello::Kind::incomplete || is_same, "further bytes do not change a final result");
  }
  return 0;
}
