#include "idle-memory.h"

#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace sluice {

namespace {

struct Mapping {
  uintptr_t from;
  uintptr_t to;
};

struct Closer {
  void operator()(FILE* file) const { fclose(file); }
};

/**
 * Reads the read-only private file mappings. Skips mappings with anonymous pages: they were written earlier (relocations
 * of a library) and cannot be read back from the file.
 */
std::vector<Mapping> program_files() {
  std::vector<Mapping> found;
  const std::unique_ptr<FILE, Closer> smaps(fopen("/proc/self/smaps", "re"));
  if (!smaps) return found;
  Mapping mapping{};
  bool is_candidate = false;
  char line[512];  // longer lines (long paths) are read in parts, which match no pattern below
  while (fgets(line, sizeof(line), smaps.get())) {
    Mapping next;  // sscanf parses the "A" of "Anonymous" as a hexadecimal number
    char access[5];
    uint64_t inode = 0;
    uint64_t kib = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %" SCNu64, &next.from, &next.to, access,
               &inode) == 4) {
      mapping = next;
      is_candidate = inode != 0 && access[1] == '-' && access[3] == 'p';
    } else if (is_candidate && sscanf(line, "Anonymous: %" SCNu64 " kB", &kib) == 1 && kib == 0) {
      found.push_back(mapping);
    }
  }
  return found;
}

}  // namespace

void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  // On failure the pages stay in memory.
  for (const auto& [from, to] : program_files())
    madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace sluice
