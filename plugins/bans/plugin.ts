import { asFunction } from 'awilix'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type PeerCall } from '../../kernel/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import { removingSlot } from '../clients/exports.ts'
import { journalKindSlot, removedSlot } from '../rules/exports.ts'
import { type Bans, banNotFound, bansUnsupported, openBans, type Services } from './bans.ts'
import { fills as commandFills, commands } from './commands.ts'
import { Ban, BanPolicy } from './entities.ts'
import { field, invalidBan } from './field.ts'
import { openMetrics } from './metrics.ts'
import { Bans0001 } from './migrations/0001-bans.ts'
import { kind } from './object-kind.ts'
import { routes } from './routes.ts'
import { messages, Report } from './wire.ts'

interface Deps extends Services {
  readonly bans: Bans
}

const minuteMs = 60_000

export default definePlugin<Deps>({
  name: 'bans',
  version: '1.0.0',
  description: 'Bans sources from rules for a time, on behalf of operators or by agents.',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', http: '^1.0.0', clients: '^1.0.0', rules: '^1.0.0' },
  codes: [invalidBan, banNotFound, bansUnsupported],
  store: { entities: [BanPolicy, Ban], migrations: [{ name: '0001-bans', class: Bans0001 }] },
  services: { bans: asFunction(openBans).singleton() },
  fills: [
    field,
    ...commandFills,
    objectKindSlot.fill(kind),
    journalKindSlot.fill('ban'),
    metricsSlot.fillWith(openMetrics),
    removedSlot.fillWith(({ bans }: Deps) => bans.ruleRemoved),
    removingSlot.fillWith(({ bans }: Deps) => bans.clientRemoved)
  ],
  messages,
  handlers: [
    respond(Report, async ({ peer, deps }: PeerCall<Deps>, { bans }) => {
      await deps.bans.report(peer, bans)
      return {}
    })
  ],
  routes,
  commands,
  async start({ deps: { bans, clock, control }, defer }) {
    defer(clock.every(minuteMs, () => control.servers.onOne('bans.tidy', bans.tidy)))
  }
})
