// Timers by the millisecond, in constant time: four wheels of 64 slots, each turning 64 times slower than the
// last.
#pragma once

#include <array>
#include <cstdint>

namespace sluice {

class Wheel;

/** Lives inside what it wakes; gone from its wheel when destroyed. */
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
  friend class Wheel;
  Timer* previous_ = nullptr;
  Timer* next_ = nullptr;
  int64_t at_ms_ = 0;
};

template <class Owner, void (Owner::*Fire)()>
class TimerOf final : public Timer {
 public:
  explicit TimerOf(Owner& owner) : owner_(owner) {}

 private:
  void fire() override { (owner_.*Fire)(); }
  Owner& owner_;
};

class Wheel {
 public:
  explicit Wheel(int64_t now_ms);
  /** Arms, or moves. What is past fires at the next turn. */
  void arm(Timer& timer, int64_t at_ms);
  /** Fires what is due; what is armed meanwhile fires later. */
  void turn(int64_t now_ms);
  /** How long nothing can be due; -1: nothing is armed. */
  int64_t quiet_ms() const;

 private:
  static constexpr int kLevels = 4;
  static constexpr int kBits = 6;
  static constexpr int kSlots = 1 << kBits;

  struct Slot : Timer {
    Slot();
  };

  void place(Timer& timer);
  void spread(int level);
  void tick();
  int slot_of(int64_t at_ms, int level) const { return (at_ms >> (level * kBits)) & (kSlots - 1); }

  std::array<std::array<Slot, kSlots>, kLevels> slots_;
  std::array<uint64_t, kLevels> used_{};  // a slot without its bit is empty
  int64_t now_ms_;
};

}  // namespace sluice
