// A hierarchical timer wheel of 1 ms: four levels of 64 slots, each level 64 times coarser than the last.
#pragma once

#include <array>
#include <cstdint>

namespace sluice {

class TimerWheel;

/** A timer. Removes itself from its wheel when it is destroyed. */
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() { cancel(); }

  void cancel();
  bool is_armed() const { return next_ != nullptr; }
  int64_t at_ms() const { return at_ms_; }

 protected:
  virtual void fire() {}

 private:
  friend class TimerWheel;
  Timer* previous_ = nullptr;
  Timer* next_ = nullptr;
  int64_t at_ms_ = 0;
};

/** A timer that is a member of its owner and calls one of the owner's methods. */
template <class Owner, void (Owner::*Fire)()>
class MethodTimer final : public Timer {
 public:
  explicit MethodTimer(Owner& owner) : owner_(owner) {}

 private:
  void fire() override { (owner_.*Fire)(); }
  Owner& owner_;
};

class TimerWheel {
 public:
  explicit TimerWheel(int64_t now_ms);
  /** Arms or moves a timer. A time in the past means the next millisecond of the wheel. */
  void arm(Timer& timer, int64_t at_ms);
  /** Fires the timers that are due by `now_ms`. One armed meanwhile may fire in the same call. */
  void advance(int64_t now_ms);
  /** Returns a lower bound of the time until the next timer is due; -1: no timer is armed. */
  int64_t ms_to_next() const;

 private:
  static constexpr int kLevels = 4;
  static constexpr int kBits = 6;
  static constexpr int kSlots = 1 << kBits;

  struct Slot : Timer {
    Slot();
  };

  void insert(Timer& timer);
  void cascade(int level);
  void tick();
  int slot_of(int64_t at_ms, int level) const { return (at_ms >> (level * kBits)) & (kSlots - 1); }

  std::array<std::array<Slot, kSlots>, kLevels> slots_;
  std::array<uint64_t, kLevels> occupied_{};  // bit set by slot; a slot without its bit is empty
  int64_t now_ms_;
};

}  // namespace sluice
