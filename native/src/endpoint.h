// One side of a connection: its socket and its readiness.
#pragma once

#include "event-loop.h"
#include "pool.h"

namespace sluice {

class Endpoint;

class EndpointOwner {
 public:
  virtual void endpoint_ready(Endpoint& endpoint, uint32_t events) = 0;

 protected:
  ~EndpointOwner() = default;
};

/** epoll refers to it by address, so it stays in place when its owner changes: one epoll_ctl per socket. */
class Endpoint final : public FdWatcher, public Pooled<Endpoint> {
 public:
  explicit Endpoint(Fd socket, EndpointOwner* owner = nullptr) : socket_(std::move(socket)), owner_(owner) {}

  void ready(uint32_t events) override {
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) is_readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) has_ended = true;
    if (events & EPOLLPRI) has_urgent = true;
    if (owner_ != nullptr) owner_->endpoint_ready(*this, events);
  }
  void set_owner(EndpointOwner& owner) { owner_ = &owner; }
  int fd() const { return socket_.get(); }
  /** Closes the socket; the owner gets no more events. */
  void close() {
    owner_ = nullptr;
    socket_.close();
  }
  /** Closes with RST. */
  void reset() {
    if (socket_) sys::arm_reset(fd());
    close();
  }

  bool is_readable = false;
  bool has_ended = false;   // the end of the stream, or an error, follows the bytes that can be read
  bool has_urgent = false;  // a read may stop short at the urgent mark (RFC 6093)

 private:
  Fd socket_;
  EndpointOwner* owner_;
};

}  // namespace sluice
