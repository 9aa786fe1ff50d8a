// The story of one connection: its caller waits, a target is reached, both are relayed, it ends.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "lane.h"
#include "leg.h"
#include "reach.h"
#include "stream-gate.h"

namespace sluice {

struct Caller {
  std::unique_ptr<Leg> leg;
  Address address;
  int port_index;           // of the rule's ports
  std::vector<char> early;  // what was read of it
  bool is_watched;          // by the loop
};

class Connection final : public Mortal, public LegOwner, public ReachOwner, public Turn {
 public:
  Connection(StreamGate& gate, Caller caller);

  /** The reason why it is refused, or none. */
  Reason enter() { return pass_.enter(worker().loop.now_us()); }
  void begin();
  /** Both sides get RST. */
  void cut() { end(Ending::reset); }
  /** The filters have changed. */
  void judge();
  /** A meter has changed. */
  void ask_again();

  // For its lanes.
  void go_on();
  Leg& source(Direction direction) { return direction == Direction::in ? *caller_ : *target_; }
  Leg& sink(Direction direction) { return direction == Direction::in ? *target_ : *caller_; }
  void delivered(Direction direction, int64_t count);
  Pass& pass() { return pass_; }
  StreamGate& gate() { return gate_; }
  Worker& worker() { return gate_.worker; }
  bool has_ended() const { return has_ended_; }
  /** The end of what goes this way has been passed on. */
  bool has_shut(Direction direction) const { return lanes_[index_of(direction)].is_shut(); }

 private:
  friend class StreamGate;
  enum class Ending : uint8_t { close, reset };

  void leg_ready(Leg& leg, uint32_t events) override;
  void caller_ready(uint32_t events);
  void reached(Reached reached) override;
  void unreached(Reason refusal) override;
  void take_turn() override { go_on(); }
  void run(Direction direction);
  void broke(Direction source);
  void settle();
  void tick();
  void watch_silence();
  void end(Ending ending);
  void bury(std::unique_ptr<Leg> leg, Ending ending);
  Lane& lane(Direction direction) { return lanes_[index_of(direction)]; }

  StreamGate& gate_;
  std::unique_ptr<Leg> caller_;
  std::unique_ptr<Leg> target_;
  std::unique_ptr<Reach> reach_;
  Pass pass_;
  std::array<Lane, 2> lanes_{{{*this, Direction::in}, {*this, Direction::out}}};
  const Address caller_address_;
  Address target_address_;
  const int port_index_;
  int target_index_ = -1;
  size_t place_ = 0;  // among the connections of its gate
  int64_t active_ms_ = 0;
  bool is_watched_;
  bool has_ended_ = false;
  bool is_broken_ = false;
  bool is_kept_alive_ = false;
  Direction broken_source_ = Direction::in;  // the lane whose source broke
  TimerOf<Connection, &Connection::tick> timer_{*this};
};

}  // namespace sluice
