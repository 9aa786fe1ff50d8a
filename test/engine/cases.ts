// The cases that every engine must pass, through the contract in agent/engine.ts.
import { balance } from './cases/balance.ts'
import { budget } from './cases/budget.ts'
import { bytes } from './cases/bytes.ts'
import { closing, udpClosing } from './cases/closing.ts'
import { dialFrom } from './cases/dial-from.ts'
import { dialing } from './cases/dialing.ts'
import { ended } from './cases/ended.ts'
import { filters } from './cases/filters.ts'
import { firstRead } from './cases/first-read.ts'
import { health } from './cases/health.ts'
import { lifecycle } from './cases/lifecycle.ts'
import { looking, udpLooking } from './cases/looking.ts'
import { meters } from './cases/meters.ts'
import { preamble } from './cases/preamble.ts'
import { replacing } from './cases/replacing.ts'
import { tlsNames } from './cases/tls-names.ts'
import { udpBalance } from './cases/udp-balance.ts'
import { udpEnded } from './cases/udp-ended.ts'
import { udpFirstRead } from './cases/udp-first-read.ts'
import { udpFlows } from './cases/udp-flows.ts'
import { udpLifecycle } from './cases/udp-lifecycle.ts'
import { udpLimits } from './cases/udp-limits.ts'
import { udpMeters } from './cases/udp-meters.ts'
import { udpPreamble } from './cases/udp-preamble.ts'
import { udpReplacing } from './cases/udp-replacing.ts'
import { udpTargets } from './cases/udp-targets.ts'

export const cases = {
  ...bytes,
  ...dialing,
  ...dialFrom,
  ...lifecycle,
  ...filters,
  ...meters,
  ...closing,
  ...budget,
  ...tlsNames,
  ...health,
  ...ended,
  ...preamble,
  ...firstRead,
  ...balance,
  ...looking,
  ...replacing
}
export const udpCases = {
  ...udpFlows,
  ...udpLifecycle,
  ...udpLimits,
  ...udpMeters,
  ...udpClosing,
  ...udpTargets,
  ...udpEnded,
  ...udpPreamble,
  ...udpFirstRead,
  ...udpBalance,
  ...udpLooking,
  ...udpReplacing
}
