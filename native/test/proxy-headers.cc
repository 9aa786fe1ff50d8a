// Parses headers. Standard input has each header as a big-endian length of two bytes, and its bytes. Writes a line per
// header, with a second result if parsing byte by byte differs from parsing the whole.
#include <cstdio>
#include <memory>
#include <string>

#include "../src/proxy-header.h"

using sluice::ProxyHeader;

namespace {

std::string line_of(const ProxyHeader& header) {
  constexpr const char* kinds[] = {"incomplete", "wrong", "unnamed", "named"};
  std::string line = std::string(kinds[static_cast<int>(header.kind)]) + " " + std::to_string(header.size);
  if (header.kind == ProxyHeader::Kind::named)
    for (const auto& address : {header.source, header.destination})
      line += " " + address.text() + " " + std::to_string(address.port);
  return line;
}

/** The first result that further bytes do not change. */
ProxyHeader read_bytewise(const uint8_t* bytes, size_t size) {
  for (size_t end = 0; end < size; end++) {
    const auto header = ProxyHeader::read({bytes, end}, ProxyHeader::Carrier::stream);
    if (header.kind != ProxyHeader::Kind::incomplete) return header;
  }
  return ProxyHeader::read({bytes, size}, ProxyHeader::Carrier::stream);
}

}  // namespace

int main() {
  for (;;) {
    const int high = getchar();
    const int low = getchar();
    if (low < 0) return 0;
    const size_t size = static_cast<size_t>(high << 8 | low);
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
    if (fread(bytes.get(), 1, size, stdin) != size) return 1;
    const auto whole = line_of(ProxyHeader::read({bytes.get(), size}, ProxyHeader::Carrier::stream));
    const auto bytewise = line_of(read_bytewise(bytes.get(), size));
    puts(whole == bytewise ? whole.c_str() : (whole + ", byte by byte " + bytewise).c_str());
  }
}
