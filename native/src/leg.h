// One side of a connection: its socket, and what is known of it. Stays where it is while it changes hands.
#pragma once

#include "loop.h"

namespace sluice {

class Leg;

class LegOwner {
 public:
  virtual void leg_ready(Leg& leg, uint32_t events) = 0;

 protected:
  ~LegOwner() = default;
};

class Leg final : public Watcher {
 public:
  explicit Leg(Fd socket, LegOwner* owner = nullptr) : socket_(std::move(socket)), owner_(owner) {}

  void ready(uint32_t events) override {
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) is_readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) has_ended = true;
    if (events & EPOLLPRI) has_urgent = true;
    if (owner_ != nullptr) owner_->leg_ready(*this, events);
  }
  void belong_to(LegOwner& owner) { owner_ = &owner; }
  int fd() const { return socket_.get(); }
  /** Nobody hears of it any more. */
  void close() {
    owner_ = nullptr;
    socket_.close();
  }
  void reset() {
    if (socket_) sys::arm_reset(fd());
    close();
  }

  bool is_readable = false;
  bool has_ended = false;   // its end, or an error, lies behind what can be read
  bool has_urgent = false;  // a read may stop at the mark of an urgent byte, with more behind it

 private:
  Fd socket_;
  LegOwner* owner_;
};

}  // namespace sluice
