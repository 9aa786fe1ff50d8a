// The target writes, then closes with unread input, so its host resets the connection. The caller reads slowly. All bytes
// in the forwarder must reach the caller before the reset.
#include <sys/socket.h>
#include <unistd.h>

#include "modes.h"
#include "socket.h"

int unread(const Options& options) {
  const int fd = dial(options.to, 64 << 10);
  block(fd, 5);
  std::array<char, 32 << 10> received{};
  double arrived = 0;
  send(fd, "U", 1, MSG_NOSIGNAL);
  for (ssize_t count = 0; (count = recv(fd, received.data(), received.size(), 0)) > 0; pause_for(0.002)) {
    if (arrived == 0) send(fd, received.data(), 4096, MSG_NOSIGNAL);
    arrived += static_cast<double>(count);
  }
  close(fd);
  print_result({{"arrived_bytes", arrived}});
  return 0;
}
