// What the load tool can do; each mode runs once and says its figures.
#pragma once
#include "measure.h"
#include "options.h"

int serve(const Options& options); // for ever
int bulk(const Options& options);
int connect_rate(const Options& options);
int exchange(const Options& options);
int idle(const Options& options);
int stall(const Options& options);
int stopped(const Options& options);
int udp(const Options& options);
int udp_exchange(const Options& options);

/** Messages there and back on `options.conc` connections for `options.secs`; a new connection for each, or one for all. */
enum class Life { kept, each };
Figures exchanges(const Options& options, Life life);
