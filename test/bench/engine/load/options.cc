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

Options read_options(int count, char** words) {
  if (count < 2) die("load server|bulk|connect|exchange|idle|stall|stopped|udp|udp-exchange --to ADDRESS:PORT ...");
  Options options;
  options.mode = words[1];
  auto number = [](int& into) { return [&into](const std::string& word) { into = std::stoi(word); }; };
  auto real = [](double& into) { return [&into](const std::string& word) { into = std::stod(word); }; };
  auto place = [](sockaddr_in& into) { return [&into](const std::string& word) { into = address_of(word); }; };
  const std::map<std::string, std::function<void(const std::string&)>> take = {
      {"--to", place(options.to)},         {"--server", place(options.server)}, {"--port", number(options.port)},
      {"--pid", number(options.pid)},      {"--streams", number(options.streams)}, {"--conc", number(options.conc)},
      {"--size", number(options.size)},    {"--beside", number(options.beside)}, {"--conns", number(options.conns)},
      {"--busy", number(options.busy)},    {"--flows", number(options.flows)},  {"--rate", real(options.rate)},
      {"--secs", real(options.secs)},      {"--pause", real(options.pause)},
      {"--dir", [&](const std::string& word) { options.dir = word; }},
      {"--echo", [&](const std::string& word) { options.echo = word == "yes"; }},
  };
  for (int i = 2; i < count; i += 2) {
    const auto found = take.find(words[i]);
    if (found == take.end() || i + 1 == count) die(std::string("unknown option, or one without a value: ") + words[i]);
    found->second(words[i + 1]);
  }
  return options;
}
