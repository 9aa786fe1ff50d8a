#pragma once
#include <netinet/in.h>

#include <string>

struct Options {
  std::string mode;
  sockaddr_in to{};       // the forwarder
  sockaddr_in server{};   // the reference server itself, for its counts
  int port = 0;           // of the server
  int pid = 0;            // root of the process tree to measure; 0: none
  std::string dir = "in"; // "in": to the server, "out": from the server
  int streams = 8;
  int conc = 1;      // connections at once
  int size = 64;     // bytes of a message
  int beside = 0;    // exchanges: bulk streams at the same time; bulk: a small exchange at the same time
  int conns = 1000;  // idle, stall, stopped: connections kept open
  int busy = 500;    // idle: connections that exchange at the same time
  double pause = 60; // stopped: seconds
  int flows = 1;
  double rate = 0; // UDP: packets per second; 0: no limit
  bool echo = false;
  double secs = 1;
  int busy_port = 0;    // exhausted: port of the rule without free local ports
  int target_port = 0;  // exhausted: port of that rule's target
  bool is_counted = false; // exchanges: also count system calls and instructions, which slows the forwarder
};

Options read_options(int count, char** arguments);
