// Lists open connections and flows. Their threads build the rows on request.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "address.h"
#include "sys.h"

namespace sluice {

/** Selects connections and flows: all members that are set must match. */
struct ConnectionSelection {
  std::optional<std::vector<int64_t>> ids;  // sorted
  std::optional<std::vector<int>> rules;    // sorted
  std::optional<std::vector<Prefix>> sources;
  std::optional<Address> target;            // port 0: any
  std::optional<std::vector<std::pair<int, int>>> rule_targets;  // sorted: a rule, and the index of an own target

  bool has_rule(int rule) const { return !rules || std::ranges::binary_search(*rules, rule); }
  bool has(int64_t id, const Address& from, const Address& to) const {
    if (ids && !std::ranges::binary_search(*ids, id)) return false;
    if (sources && std::ranges::none_of(*sources, [&](const Prefix& one) { return one.contains(from); })) return false;
    return !target || (target->same_host(to) && (target->port == 0 || target->port == to.port));
  }
  /** `index`: among all targets of the rule; that of a divert does not count. */
  bool has_target(int rule, int index, bool is_diverted) const {
    if (!rule_targets) return true;
    return !is_diverted && std::ranges::binary_search(*rule_targets, std::pair{rule, index});
  }
};

/** A page of a selection: the largest keys first, and the larger ids among equal ones. */
struct ConnectionQuery {
  /** The order is that of `connectionSorts` in agent/engine/open-connection.ts. */
  enum class Sort : uint8_t { age, bytes, rate, idle };
  ConnectionSelection selection;
  Sort sort = Sort::age;
  double after_key = std::numeric_limits<double>::infinity();
  int64_t after_id = std::numeric_limits<int64_t>::max();
  size_t limit = 0;
};

struct OpenConnection {
  int64_t id;
  int rule;
  Address source;
  Address listen;
  Address target;
  int target_index;  // among the targets of its divert, or of its rule; -1: it is being dialed
  std::string divert;  // name; empty: none
  int64_t age_ms;
  int64_t idle_ms;
  std::array<int64_t, 2> bytes;  // by direction
  int held_by;                   // id of the meter that delays it; -1: none
  std::array<int, 2> sockets;    // of caller and target; -1: there is no TCP socket
  double key = 0;
  std::array<sys::TcpFigures, 2> figures{};
};

/** The rows of a page, and totals over all pages. */
struct ConnectionPage {
  std::vector<OpenConnection> rows;
  int64_t matched = 0;
  std::array<int64_t, 2> bytes{};  // by direction

  /** Sorts the rows in the order of the page, and keeps the first `limit`. */
  void keep_first(size_t limit);
};

/** One thread's part of a page. */
class OpenConnections {
 public:
  explicit OpenConnections(const ConnectionQuery& query) : query_(query) {}
  /** Sets the current monotonic time, to compute ages. */
  void begin(int64_t now_ms) { now_ms_ = now_ms; }

  const ConnectionQuery& query() const { return query_; }
  /** Adds a selected row. Its listen address may still be missing. */
  void add(OpenConnection row);
  /** Keeps the rows of the page, and asks the system about their sockets. */
  void finish();

  ConnectionPage page;

 private:
  const ConnectionQuery& query_;
  int64_t now_ms_ = 0;
};

}  // namespace sluice
