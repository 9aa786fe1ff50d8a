// Who may come in, and where it may go.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "address.h"
#include "reasons.h"

namespace sluice {

struct Match {
  std::optional<Prefix> prefix;
  std::optional<std::string> host;
  std::optional<std::pair<uint16_t, uint16_t>> ports;

  bool fits(const Address& address, const std::string* name) const;
};

struct Filter {
  std::optional<std::vector<Match>> allow;  // none: everything that is not denied
  std::vector<Match> deny;
  Reason refusal = kNoReason;

  Reason judge(const Address& address, const std::string* name) const;
};

/** Never changed: replaced. */
struct Filters {
  std::optional<Filter> source;
  std::vector<Filter> target;  // all must allow

  Reason judge_source(const Address& address) const;
  Reason judge_target(const Address& address, const std::string& name) const;
};

}  // namespace sluice
