#include "timer-wheel.h"

#include <algorithm>
#include <bit>

namespace sluice {

void Timer::cancel() {
  if (next_ == nullptr) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  previous_ = next_ = nullptr;
}

TimerWheel::Slot::Slot() { previous_ = next_ = this; }

TimerWheel::TimerWheel(int64_t now_ms) : now_ms_(now_ms) {}

void TimerWheel::arm(Timer& timer, int64_t at_ms) {
  timer.cancel();
  timer.at_ms_ = at_ms;
  insert(timer);
}

void TimerWheel::insert(Timer& timer) {
  constexpr int64_t longest_ms = (int64_t{1} << (kLevels * kBits)) - 1;
  // A timer beyond the range of the coarsest level is inserted again when its slot is reached.
  const int64_t at_ms = std::clamp(timer.at_ms_, now_ms_ + 1, now_ms_ + longest_ms);
  const int64_t ahead_ms = at_ms - now_ms_;
  int level = 0;
  while (ahead_ms >> ((level + 1) * kBits) != 0) level++;
  const int slot = slot_of(at_ms, level);
  Slot& head = slots_[level][slot];
  occupied_[level] |= uint64_t{1} << slot;
  timer.previous_ = head.previous_;
  timer.next_ = &head;
  head.previous_->next_ = &timer;
  head.previous_ = &timer;
}

void TimerWheel::cascade(int level) {
  const int slot = slot_of(now_ms_, level);
  if (slot == 0 && level + 1 < kLevels) cascade(level + 1);
  occupied_[level] &= ~(uint64_t{1} << slot);
  Slot& head = slots_[level][slot];
  Slot due;
  if (head.next_ == &head) return;
  due.next_ = head.next_;
  due.previous_ = head.previous_;
  due.next_->previous_ = due.previous_->next_ = &due;
  head.next_ = head.previous_ = &head;
  while (due.next_ != &due) {
    Timer& timer = *due.next_;
    timer.cancel();
    if (timer.at_ms_ <= now_ms_)
      timer.fire();
    else
      insert(timer);
  }
}

void TimerWheel::tick() {
  now_ms_++;
  cascade(0);
}

void TimerWheel::advance(int64_t now_ms) {
  while (now_ms_ < now_ms) {
    const int64_t to_next = ms_to_next();
    const int64_t skipped = to_next < 0 ? now_ms - now_ms_ : std::min(to_next, now_ms - now_ms_);
    now_ms_ += std::max<int64_t>(skipped - 1, 0);
    tick();
  }
}

int64_t TimerWheel::ms_to_next() const {
  int64_t to_next = -1;
  for (int level = 0; level < kLevels; level++) {
    if (occupied_[level] == 0) continue;
    const int64_t position = now_ms_ >> (level * kBits);
    const uint64_t ahead = std::rotr(occupied_[level], static_cast<int>((position + 1) & (kSlots - 1)));
    const int64_t next = (position + 1 + std::countr_zero(ahead)) << (level * kBits);
    if (to_next < 0 || next - now_ms_ < to_next) to_next = next - now_ms_;
  }
  return to_next;
}

}  // namespace sluice
