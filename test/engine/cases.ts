// The cases that every engine must pass, through the contract in agent/engine/engine.ts.
import { balance } from './cases/balance.ts'
import { budget } from './cases/budget.ts'
import { bytes } from './cases/bytes.ts'
import { closedMeters, udpClosedMeters } from './cases/closed-meters.ts'
import { connectionLists, udpConnectionLists } from './cases/connection-lists.ts'
import { connectionRecords } from './cases/connection-records.ts'
import { dialFrom } from './cases/dial-from.ts'
import { dials } from './cases/dials.ts'
import { diverts } from './cases/diverts.ts'
import { embedded } from './cases/embedded-addresses.ts'
import { filters } from './cases/filters.ts'
import { firstRead } from './cases/first-read.ts'
import { flowRecords } from './cases/flow-records.ts'
import { guards } from './cases/guards.ts'
import { halfOpen } from './cases/half-open.ts'
import { health } from './cases/health.ts'
import { lifecycle } from './cases/lifecycle.ts'
import { limitsOnPaths } from './cases/limits-on-paths.ts'
import { losses, udpLosses } from './cases/losses.ts'
import { meters } from './cases/meters.ts'
import { preamble } from './cases/preamble.ts'
import { ruleReplacement } from './cases/rule-replacement.ts'
import { targetDials } from './cases/target-dials.ts'
import { targetNames } from './cases/target-names.ts'
import { tlsNames } from './cases/tls-names.ts'
import { udpBalance } from './cases/udp-balance.ts'
import { udpDiverts } from './cases/udp-diverts.ts'
import { udpFirstRead } from './cases/udp-first-read.ts'
import { udpFlows } from './cases/udp-flows.ts'
import { udpGuards } from './cases/udp-guards.ts'
import { udpLifecycle } from './cases/udp-lifecycle.ts'
import { udpLimits } from './cases/udp-limits.ts'
import { udpMeters } from './cases/udp-meters.ts'
import { udpPreamble } from './cases/udp-preamble.ts'
import { udpRedials } from './cases/udp-redials.ts'
import { udpRuleReplacement } from './cases/udp-rule-replacement.ts'
import { udpTargets } from './cases/udp-targets.ts'

export const cases = {
  ...bytes,
  ...dials,
  ...targetNames,
  ...targetDials,
  ...losses,
  ...dialFrom,
  ...lifecycle,
  ...halfOpen,
  ...filters,
  ...embedded,
  ...guards,
  ...diverts,
  ...meters,
  ...closedMeters,
  ...budget,
  ...tlsNames,
  ...health,
  ...connectionRecords,
  ...preamble,
  ...firstRead,
  ...balance,
  ...limitsOnPaths,
  ...connectionLists,
  ...ruleReplacement
}
export const udpCases = {
  ...udpFlows,
  ...udpLifecycle,
  ...udpLimits,
  ...udpGuards,
  ...udpDiverts,
  ...udpMeters,
  ...udpClosedMeters,
  ...udpTargets,
  ...udpRedials,
  ...udpLosses,
  ...flowRecords,
  ...udpPreamble,
  ...udpFirstRead,
  ...udpBalance,
  ...udpConnectionLists,
  ...udpRuleReplacement
}
