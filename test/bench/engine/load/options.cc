#include "options.h"

#include <arpa/inet.h>

#include <functional>
#include <map>

#include "measure.h"

namespace {

sockaddr_in address_of(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const size_t colon = text.find(':');
  if (colon == std::string::npos || inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1)
    die("not an IPv4 address with a port: " + text);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(text.substr(colon + 1))));
  return address;
}

} // namespace

Options read_options(int count, char** arguments) {
  if (count < 2) die("load server|bulk|connect|exchange|exhausted|idle|stall|stopped|udp|udp-exchange|unread --to ADDRESS:PORT ...");
  Options options;
  options.mode = arguments[1];
  auto integer = [](int& into) { return [&into](const std::string& text) { into = std::stoi(text); }; };
  auto real = [](double& into) { return [&into](const std::string& text) { into = std::stod(text); }; };
  auto address = [](sockaddr_in& into) { return [&into](const std::string& text) { into = address_of(text); }; };
  const std::map<std::string, std::function<void(const std::string&)>> setters = {
      {"--to", address(options.to)},
      {"--server", address(options.server)},
      {"--port", integer(options.port)},
      {"--pid", integer(options.pid)},
      {"--streams", integer(options.streams)},
      {"--conc", integer(options.conc)},
      {"--size", integer(options.size)},
      {"--beside", integer(options.beside)},
      {"--conns", integer(options.conns)},
      {"--busy", integer(options.busy)},
      {"--flows", integer(options.flows)},
      {"--rate", real(options.rate)},
      {"--secs", real(options.secs)},
      {"--pause", real(options.pause)},
      {"--busy-port", integer(options.busy_port)},
      {"--target-port", integer(options.target_port)},
      {"--count", [&](const std::string& text) { options.is_counted = text == "yes"; }},
      {"--dir", [&](const std::string& text) { options.dir = text; }},
      {"--echo", [&](const std::string& text) { options.echo = text == "yes"; }},
  };
  for (int i = 2; i < count; i += 2) {
    const auto found = setters.find(arguments[i]);
    if (found == setters.end() || i + 1 == count)
      die(std::string("unknown option, or one without a value: ") + arguments[i]);
    found->second(arguments[i + 1]);
  }
  return options;
}
