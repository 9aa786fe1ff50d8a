// Filters decide which callers a rule accepts and which target addresses it dials.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "address.h"
#include "local-addresses.h"
#include "reasons.h"
#include "source-limits.h"

namespace sluice {

/** A condition on an address; all parts that are set must match. */
struct Match {
  std::optional<Prefix> prefix;
  std::optional<std::string> host;
  std::optional<std::pair<uint16_t, uint16_t>> ports;
  bool is_own = false;  // true: only addresses of this host

  bool matches(const Address& address, const std::string* name, LocalAddresses* local) const;
};

/**
 * Deny entries win; without an allow list everything else is allowed. An address that leads to an IPv4 address passes only
 * if both do.
 */
struct Filter {
  std::optional<std::vector<Match>> allow;
  std::vector<Match> deny;
  Reason refusal = kNoReason;

  /** `name` and `local` are null for a caller. */
  Reason check(const Address& address, const std::string* name, LocalAddresses* local) const;

 private:
  bool allows(const Address& form, const std::string* name, LocalAddresses* local) const;
};

/** Judges callers by sets of addresses; deny wins, without an allow list everything else is allowed. */
struct AddressGuard {
  using Sets = std::vector<std::shared_ptr<AddressSet>>;
  std::optional<Sets> allow;
  Sets deny;
  bool keeps_live;  // if true, a change ends no connection
  Reason refusal = kNoReason;

  Reason check(const Address& address) const;
  bool allows(const Address& form) const;
  bool uses(const AddressSet& set) const;
};

/** The filters of a rule. Immutable: a change replaces them. */
struct Filters {
  std::optional<Filter> source;
  std::vector<Filter> target;  // all must allow the target
  std::vector<AddressGuard> address_guards;
  std::vector<SourceLimit> source_limits;

  Reason check_source(const Address& address) const;
  Reason check_guards(const Address& address) const;
  /** Like `check_source`, for an open connection. */
  Reason recheck_source(const Address& address) const;
  Reason check_target(const Address& address, const std::string& name, LocalAddresses& local) const;
};

}  // namespace sluice
