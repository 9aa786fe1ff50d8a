import { asFunction } from 'awilix'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { changedSlot, removingSlot } from '../clients/exports.ts'
import { journalKindSlot } from '../rules/exports.ts'
import { commands } from './commands.ts'
import { UnderAttack } from './entities.ts'
import { openMetrics } from './metrics.ts'
import { UnderAttack0001 } from './migrations/0001-under-attack.ts'
import { kind } from './object-kind.ts'
import { routes } from './routes.ts'
import { openSwitches, type Services, type Switches, unsupported } from './switches.ts'
import { messages } from './wire.ts'

interface Deps extends Services {
  readonly switches: Switches
}

const minuteMs = 60_000

export default definePlugin<Deps>({
  name: 'under-attack',
  version: '1.0.0',
  description: 'One switch that temporarily tightens the per-source limits of all rules.',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', http: '^1.0.0', clients: '^1.0.0', rules: '^1.0.0' },
  codes: [unsupported],
  store: { entities: [UnderAttack], migrations: [{ name: '0001-under-attack', class: UnderAttack0001 }] },
  services: { switches: asFunction(openSwitches).singleton() },
  fills: [
    objectKindSlot.fill(kind),
    journalKindSlot.fill('under_attack'),
    metricsSlot.fillWith(openMetrics),
    changedSlot.fillWith(({ switches }: Deps) => switches.clientChanged),
    removingSlot.fillWith(({ switches }: Deps) => switches.clientRemoved)
  ],
  messages,
  routes,
  commands,
  async start({ deps: { switches, clock, control }, defer }) {
    defer(clock.every(minuteMs, () => control.servers.onOne('under-attack.tidy', switches.tidy)))
  }
})
