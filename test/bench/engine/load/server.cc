// The server behind every forwarder: what a connection or a datagram wants is said by its first byte.
//   TCP: E echo, S sink that answers the count of bytes at the end, G source, N is never read
//   UDP: E echo, S sink, Q asks how many datagrams have arrived
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "modes.h"
#include "socket.h"

namespace {

struct Guest {
  char wish = 0;       // not known before the first byte
  uint64_t count = 0;  // sink: bytes that came
  std::string owed{};  // echo: what the socket did not take
};

enum class Then { stay, close };

bool is_broken(ssize_t result) { return result < 0 && errno != EAGAIN; }

Then pour(int fd) {
  for (int i = 0; i < 8; i++) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return is_broken(sent) ? Then::close : Then::stay;
  }
  return Then::stay;
}

/** The kernel drops the bytes, so that the forwarder is what is measured. */
Then drain(int fd, Guest& guest) {
  for (int i = 0; i < 8; i++) {
    const ssize_t got = recv(fd, nullptr, 4 << 20, MSG_TRUNC);
    if (got < 0) return is_broken(got) ? Then::close : Then::stay;
    guest.count += static_cast<uint64_t>(got);
    if (got > 0) continue;
    send(fd, &guest.count, sizeof guest.count, MSG_NOSIGNAL);
    return Then::close;
  }
  return Then::stay;
}

Then repay(int fd, Guest& guest, Poll& poll) {
  const ssize_t sent = send(fd, guest.owed.data(), guest.owed.size(), MSG_NOSIGNAL);
  if (sent < 0) return is_broken(sent) ? Then::close : Then::stay;
  guest.owed.erase(0, static_cast<size_t>(sent));
  if (guest.owed.empty()) poll.change(fd, EPOLLIN, static_cast<uint64_t>(fd));
  return Then::stay;
}

Then say_again(int fd, Guest& guest, Poll& poll) {
  static std::array<char, chunk> heard;
  const ssize_t got = recv(fd, heard.data(), heard.size(), 0);
  if (got <= 0) return got == 0 || is_broken(got) ? Then::close : Then::stay;
  if (guest.wish == 0) guest.wish = heard[0];
  if (guest.wish == 'S') guest.count += static_cast<uint64_t>(got);
  if (guest.wish == 'G') poll.change(fd, EPOLLIN | EPOLLOUT, static_cast<uint64_t>(fd));
  if (guest.wish == 'N') poll.change(fd, 0, static_cast<uint64_t>(fd));
  if (guest.wish != 'E') return Then::stay;
  const ssize_t sent = std::max<ssize_t>(0, send(fd, heard.data(), static_cast<size_t>(got), MSG_NOSIGNAL));
  if (sent == got) return Then::stay;
  guest.owed.assign(heard.data() + sent, static_cast<size_t>(got - sent));
  poll.change(fd, EPOLLOUT, static_cast<uint64_t>(fd));
  return Then::stay;
}

Then attend(int fd, Guest& guest, uint32_t events, Poll& poll) {
  if (guest.wish == 'G') return (events & (EPOLLERR | EPOLLHUP)) != 0 ? Then::close : pour(fd);
  if (guest.wish == 'N') return (events & (EPOLLERR | EPOLLHUP)) != 0 ? Then::close : Then::stay;
  if (guest.wish == 'S') return drain(fd, guest);
  return guest.owed.empty() ? say_again(fd, guest, poll) : repay(fd, guest, poll);
}

class Datagrams {
 public:
  explicit Datagrams(int fd) : fd_(fd) {}

  void attend() {
    for (int round = 0; round < 8 && attend_batch() == batch; round++) {
    }
  }

 private:
  int attend_batch() {
    for (size_t i = 0; i < batch; i++) {
      parts_[i] = {heard_[i].data(), heard_[i].size()};
      messages_[i].msg_hdr = {&from_[i], sizeof from_[i], &parts_[i], 1, nullptr, 0, 0};
    }
    const int got = recvmmsg(fd_, messages_.data(), batch, MSG_DONTWAIT, nullptr);
    int answers = 0;
    for (int i = 0; i < got; i++) {
      const char wish = messages_[static_cast<size_t>(i)].msg_len > 0 ? heard_[static_cast<size_t>(i)][0] : 0;
      if (wish != 'Q') count_++;
      if (wish == 'Q') sendto(fd_, &count_, sizeof count_, 0, address(i), sizeof(sockaddr_in));
      if (wish == 'E') answer_later(answers++, i);
    }
    for (int sent = 0; sent < answers;) {
      const int more = sendmmsg(fd_, messages_.data() + sent, static_cast<unsigned>(answers - sent), 0);
      if (more <= 0) break;
      sent += more;
    }
    return got;
  }

  void answer_later(int at, int i) {
    parts_[static_cast<size_t>(i)].iov_len = messages_[static_cast<size_t>(i)].msg_len;
    messages_[static_cast<size_t>(at)].msg_hdr = messages_[static_cast<size_t>(i)].msg_hdr;
  }

  sockaddr* address(int i) { return reinterpret_cast<sockaddr*>(&from_[static_cast<size_t>(i)]); }

  int fd_;
  uint64_t count_ = 0;
  std::array<mmsghdr, batch> messages_{};
  std::array<iovec, batch> parts_{};
  std::array<sockaddr_in, batch> from_{};
  std::array<std::array<char, 2048>, batch> heard_{};
};

} // namespace

int serve(const Options& options) {
  const int listener = bound(SOCK_STREAM, options.port);
  const int socket = bound(SOCK_DGRAM, options.port);
  Datagrams datagrams(socket);
  std::vector<std::unique_ptr<Guest>> guests;
  Poll poll;
  poll.add(listener, EPOLLIN, static_cast<uint64_t>(listener));
  poll.add(socket, EPOLLIN, static_cast<uint64_t>(socket));
  auto welcome = [&] {
    for (int i = 0, fd = 0; i < batch && (fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) >= 0; i++) {
      if (static_cast<size_t>(fd) >= guests.size()) guests.resize(static_cast<size_t>(fd) + 1);
      guests[static_cast<size_t>(fd)] = std::make_unique<Guest>();
      poll.add(fd, EPOLLIN, static_cast<uint64_t>(fd));
    }
  };
  say({{"port", options.port}});
  for (;;)
    for (const epoll_event& event : poll.wait(-1)) {
      const int fd = static_cast<int>(event.data.u64);
      if (fd == socket) datagrams.attend();
      else if (fd == listener) welcome();
      else if (attend(fd, *guests[event.data.u64], event.events, poll) == Then::close) {
        guests[event.data.u64].reset();
        close(fd);
      }
    }
}
