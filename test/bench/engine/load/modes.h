// The modes of the load tool. Each runs once and prints its result.
#pragma once
#include "measure.h"
#include "options.h"

int serve(const Options& options); // never returns
int bulk(const Options& options);
int connect_rate(const Options& options);
int exchange(const Options& options);
int exhausted(const Options& options);
int idle(const Options& options);
int stall(const Options& options);
int stopped(const Options& options);
int udp(const Options& options);
int udp_exchange(const Options& options);
int unread(const Options& options);

enum class ConnectionUse { reused, per_exchange };
/** Exchanges messages on `options.conc` connections for `options.secs`. */
Result exchanges(const Options& options, ConnectionUse use);
