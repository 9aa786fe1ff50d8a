// The cases that every engine must pass, through the contract in agent/engine/engine.ts.
import { balance } from './cases/balance.ts'
import { budget } from './cases/budget.ts'
import { bytes } from './cases/bytes.ts'
import { closing, udpClosing } from './cases/closing.ts'
import { dialFrom } from './cases/dial-from.ts'
import { dialing } from './cases/dialing.ts'
import { ended } from './cases/ended.ts'
import { filters } from './cases/filters.ts'
import { firstRead } from './cases/first-read.ts'
import { guards } from './cases/guards.ts'
import { health } from './cases/health.ts'
import { lifecycle } from './cases/lifecycle.ts'
import { limitsOnPaths } from './cases/limits-on-paths.ts'
import { looking, udpLooking } from './cases/looking.ts'
import { losses, udpLosses } from './cases/losses.ts'
import { meters } from './cases/meters.ts'
import { names } from './cases/names.ts'
import { preamble } from './cases/preamble.ts'
import { replacing } from './cases/replacing.ts'
import { tlsNames } from './cases/tls-names.ts'
import { udpBalance } from './cases/udp-balance.ts'
import { udpEnded } from './cases/udp-ended.ts'
import { udpFirstRead } from './cases/udp-first-read.ts'
import { udpFlows } from './cases/udp-flows.ts'
import { udpGuards } from './cases/udp-guards.ts'
import { udpLifecycle } from './cases/udp-lifecycle.ts'
import { udpLimits } from './cases/udp-limits.ts'
import { udpMeters } from './cases/udp-meters.ts'
import { udpPreamble } from './cases/udp-preamble.ts'
import { udpReplacing } from './cases/udp-replacing.ts'
import { udpTargets } from './cases/udp-targets.ts'

export const cases = {
  ...bytes,
  ...dialing,
  ...names,
  ...losses,
  ...dialFrom,
  ...lifecycle,
  ...filters,
  ...guards,
  ...meters,
  ...closing,
  ...budget,
  ...tlsNames,
  ...health,
  ...ended,
  ...preamble,
  ...firstRead,
  ...balance,
  ...limitsOnPaths,
  ...looking,
  ...replacing
}
export const udpCases = {
  ...udpFlows,
  ...udpLifecycle,
  ...udpLimits,
  ...udpGuards,
  ...udpMeters,
  ...udpClosing,
  ...udpTargets,
  ...udpLosses,
  ...udpEnded,
  ...udpPreamble,
  ...udpFirstRead,
  ...udpBalance,
  ...udpLooking,
  ...udpReplacing
}
