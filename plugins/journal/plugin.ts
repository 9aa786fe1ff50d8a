import { asFunction } from 'awilix'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type PeerCall } from '../../kernel/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import { journalEntrySlot, removedSlot } from '../rules/exports.ts'
import { commands } from './commands.ts'
import { JournalEntry } from './entities.ts'
import { type Journal, openJournal, type Services } from './journal.ts'
import { Journal0001 } from './migrations/0001-journal.ts'
import { routes } from './routes.ts'
import { keys } from './settings.ts'
import { messages, Report } from './wire.ts'

interface Deps extends Services {
  readonly journal: Journal
}

const hourMs = 3_600_000

export default definePlugin<Deps>({
  name: 'journal',
  version: '1.0.0',
  description: 'Events of rules and their causes.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', rules: '^1.0.0' },
  keys,
  store: { entities: [JournalEntry], migrations: [{ name: '0001-journal', class: Journal0001 }] },
  services: { journal: asFunction(openJournal).singleton() },
  fills: [
    journalEntrySlot.fillWith(({ journal }: Deps) => journal.addEntry),
    connectionSlot.fillWith(({ journal }: Deps) => journal.connection),
    removedSlot.fillWith(
      ({ journal }: Deps) =>
        async (rule, em) =>
          void (await journal.forgetRule(rule, em))
    )
  ],
  messages,
  handlers: [
    respond(Report, async ({ peer, deps }: PeerCall<Deps>, { entries }) => {
      await deps.journal.report(peer, entries)
      return {}
    })
  ],
  routes,
  commands,
  async start({ deps: { clock, control, journal }, defer }) {
    defer(clock.every(hourMs, () => control.servers.onOne('journal.prune', journal.prune)))
    await journal.prune()
  }
})
