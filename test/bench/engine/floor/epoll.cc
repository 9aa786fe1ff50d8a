#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "floor.h"

namespace {

struct Side {
  int fd = -1;
  Side* other = nullptr;
  bool is_caller = false;
  bool is_open = true;  // still sends
};

/** Deleted after the batch of events that ends it. */
struct Relay {
  std::array<Side, 2> sides;
};

class EpollRelay {
 public:
  EpollRelay(int listener, const sockaddr_in& target) : listener_(listener), target_(target) {
    epoll_event event{EPOLLIN, {.ptr = nullptr}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
  }

  void run() {
    std::array<epoll_event, 256> events;
    for (;;) {
      const int count = epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; i++)
        if (auto* side = static_cast<Side*>(events[i].data.ptr))
          ready(*side, events[i].events);
        else
          while (accept_one()) continue;
      ended_.clear();
    }
  }

 private:
  bool accept_one() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    if (fd < 0) return false;
    auto relay = std::make_unique<Relay>();
    auto& [caller, target] = relay->sides;
    caller = {fd, &target, true};
    target = {socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), &caller};
    const int on = 1;
    setsockopt(target.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connect(target.fd, reinterpret_cast<const sockaddr*>(&target_), sizeof target_);
    watch(target);
    watch(caller);
    relays_[static_cast<size_t>(fd)] = std::move(relay);
    return true;
  }

  void watch(Side& side) {
    epoll_event wanted{EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.ptr = &side}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, side.fd, &wanted);
  }

  void ready(Side& side, uint32_t events) {
    if (side.fd < 0 || !(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))) return;
    const bool is_well = forward(side, events);
    if (!is_well || (!side.is_open && !side.other->is_open)) end(side);
  }

  bool forward(Side& side, uint32_t events) {
    while (side.is_open) {
      const ssize_t count = recv(side.fd, buffer_.data(), buffer_.size(), 0);
      if (count < 0) return errno == EAGAIN;
      if (count == 0) {
        side.is_open = false;
        if (side.other->is_open) shutdown(side.other->fd, SHUT_WR);
      } else if (send(side.other->fd, buffer_.data(), static_cast<size_t>(count), MSG_NOSIGNAL) != count) {
        return false;
      } else if (static_cast<size_t>(count) < buffer_.size() && !(events & EPOLLRDHUP)) {
        return true;
      }
    }
    return true;
  }

  void end(Side& side) {
    ended_.push_back(std::move(relays_[static_cast<size_t>(side.is_caller ? side.fd : side.other->fd)]));
    for (Side* one : {&side, side.other}) {
      close(one->fd);
      one->fd = -1;
    }
  }

  const int listener_;
  const sockaddr_in target_;
  const int epoll_ = epoll_create1(0);
  std::array<char, 65'536> buffer_;
  std::vector<std::unique_ptr<Relay>> relays_{65'536};  // by the caller's descriptor
  std::vector<std::unique_ptr<Relay>> ended_;           // events of this batch may still refer to them
};

}  // namespace

void relay_with_epoll(int listener, const sockaddr_in& target) {
  std::make_unique<EpollRelay>(listener, target)->run();
}
