// The addresses of this host's interfaces, listed once and again after each change (rtnetlink(7)).
#pragma once

#include <vector>

#include "event-loop.h"

namespace sluice {

/** Not thread-safe. If changes cannot be watched, each call lists the interfaces again. */
class LocalAddresses final : public FdWatcher {
 public:
  explicit LocalAddresses(EventLoop& loop) : loop_(loop) {}

  /** True for an address of this host, without regard to the port. */
  bool include(const Address& address);

 private:
  void ready(uint32_t events) override;
  bool watch_changes();

  EventLoop& loop_;
  Fd changes_;
  std::vector<Address> addresses_;
  bool is_current_ = false;
};

}  // namespace sluice
