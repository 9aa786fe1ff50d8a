// From a rule's targets to a connected datagram socket: names, filters, failover.
#pragma once

#include <vector>

#include "gate.h"

namespace sluice {

class UdpGate;

struct UdpReached {
  Fd socket;
  Address address;
  Try attempt;  // how it went is known when the target has answered
  bool is_failover = false;  // another target was tried before
};

class UdpReachOwner {
 public:
  virtual void reached(UdpReached reached) = 0;
  /** `refusal`: why addresses were refused, if they were. */
  virtual void unreached(Reason refusal) = 0;

 protected:
  ~UdpReachOwner() = default;
};

/** Says once how it went, maybe from within `begin`. */
class UdpReach final : private Asker {
 public:
  UdpReach(UdpGate& gate, int port_index, UdpReachOwner& owner)
      : gate_(gate), owner_(owner), port_index_(port_index) {}
  UdpReach(const UdpReach&) = delete;
  UdpReach& operator=(const UdpReach&) = delete;
  ~UdpReach() { give_up(); }

  void begin();
  void give_up();

 private:
  /** To the next target, until one is reached or a name must be asked for. */
  void go_on();
  bool begin_next();
  void answered(const Answer& answer) override;
  bool connect(const std::vector<Address>& addresses);
  const Target& target() const;

  UdpGate& gate_;
  UdpReachOwner& owner_;
  const int port_index_;
  int target_ = -1;
  /** When all are failed. A flow learns too late that its target is gone to try another. */
  std::vector<int> desperate_;
  size_t desperate_next_ = 0;
  bool is_failover_ = false;
  Reason refusal_ = kNoReason;
  int64_t token_ = 0;
  Try try_;
};

}  // namespace sluice
