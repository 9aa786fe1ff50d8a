#include "open-connections.h"

#include <utility>

namespace sluice {

namespace {
/** Greater than every time in ms since 1970. */
constexpr double kEndOfTime = 9e15;

/** Larger for earlier times, and constant over time, so that a page can continue after the previous one. */
double key_of_time(int64_t monotonic_ms) {
  static const int64_t offset_ms = sys::unix_ms() - sys::now_us() / 1000;
  return kEndOfTime - static_cast<double>(monotonic_ms + offset_ms);
}

double key_of(const OpenConnection& row, ConnectionQuery::Sort sort, int64_t now_ms) {
  const auto bytes = static_cast<double>(row.bytes[0] + row.bytes[1]);
  switch (sort) {
    case ConnectionQuery::Sort::age: return key_of_time(now_ms - row.age_ms);
    case ConnectionQuery::Sort::bytes: return bytes;
    case ConnectionQuery::Sort::rate: return bytes * 1000 / static_cast<double>(std::max<int64_t>(row.age_ms, 1));
    case ConnectionQuery::Sort::idle: return key_of_time(now_ms - row.idle_ms);
  }
  return 0;
}
}  // namespace

void OpenConnections::add(OpenConnection row) {
  page.matched++;
  for (size_t direction = 0; direction < 2; direction++) page.bytes[direction] += row.bytes[direction];
  row.key = key_of(row, query_.sort, now_ms_);
  if (std::pair{row.key, row.id} < std::pair{query_.after_key, query_.after_id}) page.rows.push_back(row);
}

void OpenConnections::finish() {
  page.keep_first(query_.limit);
  for (OpenConnection& row : page.rows) {
    if (row.sockets[0] >= 0) row.listen = sys::local_address(row.sockets[0]);
    for (size_t side = 0; side < 2; side++)
      if (row.sockets[side] >= 0) row.figures[side] = sys::tcp_figures(row.sockets[side]);
  }
}

void ConnectionPage::keep_first(size_t limit) {
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(limit, rows.size()));
  std::partial_sort(rows.begin(), end, rows.end(), [](const OpenConnection& a, const OpenConnection& b) {
    return std::pair{a.key, a.id} > std::pair{b.key, b.id};
  });
  rows.erase(end, rows.end());
}

}  // namespace sluice
