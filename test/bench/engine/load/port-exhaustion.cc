// A quiet rule beside one without free local ports: all ports towards its target are in TIME_WAIT on this host.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "background.h"
#include "modes.h"
#include "socket.h"

namespace {

/** Changes a network setting for the lifetime of this object. */
class Setting {
 public:
  Setting(const char* name, const std::string& value) : file_(std::string("/proc/sys/net/ipv4/") + name) {
    std::getline(std::ifstream(file_), before_);
    std::ofstream(file_) << value;
  }
  ~Setting() { std::ofstream(file_) << before_; }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const std::string file_;
  std::string before_;
};

sockaddr_in at_port(sockaddr_in address, int port) {
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

/** Connects and closes first, like a forwarder after its caller has closed, until no local port is left. */
void use_up_ports(const sockaddr_in& target) {
  for (int fd = dial_plain(target); fd >= 0; fd = dial_plain(target)) close(fd);
}

/** Makes 500 sequential calls per second. */
void call(const sockaddr_in& rule) {
  for (char byte = 0;; pause_for(0.002)) {
    const int fd = dial_plain(rule);
    if (fd < 0) continue;
    block(fd, 1);
    send(fd, "E", 1, MSG_NOSIGNAL);
    recv(fd, &byte, 1, 0);
    close(fd);
  }
}

} // namespace

int exhausted(const Options& options) {
  const Result quiet = exchanges(options, ConnectionUse::reused);
  const Setting ports("ip_local_port_range", "30000 34095"); // each dial searches half of them; 55,000 would take minutes
  const Setting no_reuse("tcp_tw_reuse", "0");
  use_up_ports(at_port(options.server, options.target_port));
  const BackgroundProcess callers(true, [&] { call(at_port(options.to, options.busy_port)); });
  Result result = exchanges(options, ConnectionUse::reused);
  result.emplace_back("quiet_p50_us", quiet[1].second);
  print_result(result);
  return 0;
}
