// From a rule's targets to a connected socket: names, filters, failover, happy eyeballs (RFC 8305).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gate.h"
#include "leg.h"

namespace sluice {

struct Reached {
  std::unique_ptr<Leg> leg;
  int target;
  Address address;
  bool is_failover;  // another target was tried before
};

class ReachOwner {
 public:
  virtual void reached(Reached reached) = 0;
  /** `refusal`: why addresses were refused, if they were. */
  virtual void unreached(Reason refusal) = 0;

 protected:
  ~ReachOwner() = default;
};

/** Says once how it went, maybe from within `begin`; then, or when it is buried, it is of no use. */
class Reach final : public Mortal, public LegOwner, public Asker {
 public:
  Reach(Gate& gate, int port_index, ReachOwner& owner)
      : gate_(gate), owner_(owner), port_index_(port_index) {}
  ~Reach() override { give_up(); }

  /** All targets in their order. */
  void begin();
  /** One target, whatever is known of it. */
  void begin_probe(int target);
  /** The caller has left. */
  void give_up();

 private:
  struct Attempt {
    std::unique_ptr<Leg> leg;
    Address address;
    int64_t until_ms;
  };

  void next_target();
  void try_target();
  void answered(const Answer& answer) override;
  void dial(const std::vector<Address>& addresses);
  void dial_next();
  bool connect(const Address& address);
  void leg_ready(Leg& leg, uint32_t events) override;
  void lost(size_t attempt, const char* reason);
  void won(size_t attempt);
  void target_failed(const char* reason);
  void finish_unreached();
  void drop_attempts();
  void tick();
  void arm();
  Worker& worker() const { return gate_.worker; }
  const Target& target() const { return gate_.rule->targets[target_]; }

  Gate& gate_;
  ReachOwner& owner_;
  const int port_index_;
  int target_ = -1;
  bool is_probe_ = false;
  bool is_desperate_ = false;
  bool is_done_ = false;
  Reason refusal_ = kNoReason;
  int64_t token_ = 0;
  int64_t until_ms_ = 0;
  int64_t next_ms_ = 0;  // when the next address is tried beside a slow one; 0: not
  Try try_;
  std::vector<Address> rest_;  // in reverse order
  std::vector<Attempt> attempts_;
  const char* failure_ = nullptr;  // what the first of the target's addresses said
  bool is_failover_ = false;
  TimerOf<Reach, &Reach::tick> timer_{*this};
};

}  // namespace sluice
