// Judges headers: standard input has each as a length of two bytes, big-endian, and the bytes; standard output
// gets a line.
#include <cstdio>
#include <memory>

#include "../src/proxy-header.h"

int main() {
  for (;;) {
    const int high = getchar();
    const int low = getchar();
    if (low < 0) return 0;
    const size_t size = static_cast<size_t>(high << 8 | low);
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
    if (fread(bytes.get(), 1, size, stdin) != size) return 1;
    const auto header = sluice::ProxyHeader::read({bytes.get(), size}, sluice::ProxyHeader::Carrier::stream);
    constexpr const char* kinds[] = {"incomplete", "wrong", "unnamed", "named"};
    printf("%s %zu", kinds[static_cast<int>(header.kind)], header.size);
    if (header.kind == sluice::ProxyHeader::Kind::named)
      for (const auto& address : {header.source, header.destination})
        printf(" %s %d", address.text().c_str(), address.port);
    printf("\n");
  }
}
