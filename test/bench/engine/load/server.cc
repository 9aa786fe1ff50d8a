// The target server behind every forwarder. The first byte of a connection or datagram is a command:
//   TCP: E echo, S sink that answers with the byte count at the end, G source, N never read,
//   U writes, then closes with unread input
//   UDP: E echo, S sink, Q answers with the count of datagrams received
// A PROXY protocol header (version 2) before the first byte of a connection is skipped.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "modes.h"
#include "socket.h"

namespace {

struct Session {
  char command = 0;     // 0 until the first byte
  uint64_t count = 0;   // sink: bytes received
  std::string unsent{}; // echo: bytes that the socket has not accepted yet
};

enum class Next { keep, close };

bool is_broken(ssize_t result) { return result < 0 && errno != EAGAIN; }

Next send_source(int fd) {
  for (int i = 0; i < 8; i++) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return is_broken(sent) ? Next::close : Next::keep;
  }
  return Next::keep;
}

/** Discards the bytes in the kernel, so that the server costs as little as possible. */
Next count_and_discard(int fd, Session& session) {
  for (int i = 0; i < 8; i++) {
    const ssize_t count = recv(fd, nullptr, 4 << 20, MSG_TRUNC);
    if (count < 0) return is_broken(count) ? Next::close : Next::keep;
    session.count += static_cast<uint64_t>(count);
    if (count > 0) continue;
    send(fd, &session.count, sizeof session.count, MSG_NOSIGNAL);
    return Next::close;
  }
  return Next::keep;
}

Next flush_echo(int fd, Session& session, Poll& poll) {
  const ssize_t sent = send(fd, session.unsent.data(), session.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0) return is_broken(sent) ? Next::close : Next::keep;
  session.unsent.erase(0, static_cast<size_t>(sent));
  if (session.unsent.empty()) poll.change(fd, EPOLLIN, static_cast<uint64_t>(fd));
  return Next::keep;
}

/** Writes 2,000,000 bytes. Closes with unread input once all bytes are acknowledged. */
void write_and_leave(int fd) {
  if (fork() != 0) return;
  block(fd, 5);
  for (size_t left = 2'000'000; left > 0;) {
    const ssize_t sent = send(fd, bytes.data(), std::min(left, bytes.size()), MSG_NOSIGNAL);
    if (sent <= 0) break;
    left -= static_cast<size_t>(sent);
  }
  int unacknowledged = 1;
  int unread = 0;
  for (int waits = 0; waits < 10'000 && (unacknowledged > 0 || unread == 0); waits++) {
    pause_for(0.001);
    ioctl(fd, SIOCOUTQ, &unacknowledged);
    ioctl(fd, SIOCINQ, &unread);
  }
  _exit(0);
}

/** Returns the size of the header at the start of the bytes, which arrives in one piece. */
ssize_t header_size(const char* received, ssize_t count) {
  if (count < 16 || received[0] != '\r') return 0;
  return 16 + (static_cast<uint8_t>(received[14]) << 8 | static_cast<uint8_t>(received[15]));
}

Next receive(int fd, Session& session, Poll& poll) {
  static std::array<char, chunk> buffer;
  const char* received = buffer.data();
  ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
  if (count <= 0) return count == 0 || is_broken(count) ? Next::close : Next::keep;
  if (session.command == 0) {
    const ssize_t header = header_size(received, count);
    received += header;
    count -= header;
    if (count <= 0) return Next::keep;
    session.command = received[0];
  }
  if (session.command == 'U') {
    poll.remove(fd); // the child's copy would otherwise keep it in the epoll set
    write_and_leave(fd);
    return Next::close;
  }
  if (session.command == 'S') session.count += static_cast<uint64_t>(count);
  if (session.command == 'G') poll.change(fd, EPOLLIN | EPOLLOUT, static_cast<uint64_t>(fd));
  if (session.command == 'N') poll.change(fd, EPOLLRDHUP, static_cast<uint64_t>(fd)); // unread input is dropped when the caller closes
  if (session.command != 'E') return Next::keep;
  const ssize_t sent = std::max<ssize_t>(0, send(fd, received, static_cast<size_t>(count), MSG_NOSIGNAL));
  if (sent == count) return Next::keep;
  session.unsent.assign(received + sent, static_cast<size_t>(count - sent));
  poll.change(fd, EPOLLOUT, static_cast<uint64_t>(fd));
  return Next::keep;
}

Next serve_session(int fd, Session& session, uint32_t events, Poll& poll) {
  if (session.command == 'G') return (events & (EPOLLERR | EPOLLHUP)) != 0 ? Next::close : send_source(fd);
  if (session.command == 'N') return (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0 ? Next::close : Next::keep;
  if (session.command == 'S') return count_and_discard(fd, session);
  return session.unsent.empty() ? receive(fd, session, poll) : flush_echo(fd, session, poll);
}

class Datagrams {
 public:
  explicit Datagrams(int fd) : fd_(fd) {}

  void receive() {
    for (int round = 0; round < 8 && receive_batch() == batch; round++) {
    }
  }

 private:
  int receive_batch() {
    for (size_t i = 0; i < batch; i++) {
      buffers_[i] = {received_[i].data(), received_[i].size()};
      messages_[i].msg_hdr = {&sources_[i], sizeof sources_[i], &buffers_[i], 1, nullptr, 0, 0};
    }
    const int count = recvmmsg(fd_, messages_.data(), batch, MSG_DONTWAIT, nullptr);
    int answers = 0;
    for (int i = 0; i < count; i++) {
      const char command = messages_[static_cast<size_t>(i)].msg_len > 0 ? received_[static_cast<size_t>(i)][0] : 0;
      if (command != 'Q') count_++;
      if (command == 'Q') sendto(fd_, &count_, sizeof count_, 0, address(i), sizeof(sockaddr_in));
      if (command == 'E') queue_answer(answers++, i);
    }
    for (int sent = 0; sent < answers;) {
      const int more = sendmmsg(fd_, messages_.data() + sent, static_cast<unsigned>(answers - sent), 0);
      if (more <= 0) break;
      sent += more;
    }
    return count;
  }

  void queue_answer(int at, int i) {
    buffers_[static_cast<size_t>(i)].iov_len = messages_[static_cast<size_t>(i)].msg_len;
    messages_[static_cast<size_t>(at)].msg_hdr = messages_[static_cast<size_t>(i)].msg_hdr;
  }

  sockaddr* address(int i) { return reinterpret_cast<sockaddr*>(&sources_[static_cast<size_t>(i)]); }

  int fd_;
  uint64_t count_ = 0;
  std::array<mmsghdr, batch> messages_{};
  std::array<iovec, batch> buffers_{};
  std::array<sockaddr_in, batch> sources_{};
  std::array<std::array<char, 2048>, batch> received_{};
};

} // namespace

int serve(const Options& options) {
  signal(SIGCHLD, SIG_IGN); // children leave no zombies
  // Further ports are separate targets for other rules.
  const std::array listeners{bind_local(SOCK_STREAM, options.port, options.to.sin_addr),
                             bind_local(SOCK_STREAM, options.port + 1, options.to.sin_addr)};
  const int socket = bind_local(SOCK_DGRAM, options.port);
  Datagrams datagrams(socket);
  std::vector<std::unique_ptr<Session>> sessions;
  Poll poll;
  for (const int listener : listeners) poll.add(listener, EPOLLIN, static_cast<uint64_t>(listener));
  poll.add(socket, EPOLLIN, static_cast<uint64_t>(socket));
  auto accept_all = [&](int listener) {
    for (int i = 0, fd = 0; i < batch && (fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) >= 0; i++) {
      if (static_cast<size_t>(fd) >= sessions.size()) sessions.resize(static_cast<size_t>(fd) + 1);
      sessions[static_cast<size_t>(fd)] = std::make_unique<Session>();
      poll.add(fd, EPOLLIN, static_cast<uint64_t>(fd));
    }
  };
  print_result({{"port", options.port}});
  for (;;)
    for (const epoll_event& event : poll.wait(-1)) {
      const int fd = static_cast<int>(event.data.u64);
      if (fd == socket) datagrams.receive();
      else if (fd == listeners[0] || fd == listeners[1]) accept_all(fd);
      else if (serve_session(fd, *sessions[event.data.u64], event.events, poll) == Next::close) {
        sessions[event.data.u64].reset();
        close(fd);
      }
    }
}
