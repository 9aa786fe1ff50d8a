import { asFunction } from 'awilix'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { requiredDecisionSlot, siteSlot } from '../http/exports.ts'
import { admissionChangedSlot, journalEntrySlot, stateSlot } from '../rules/exports.ts'
import { type ChangeCounter, openChangeCounter, type Services } from './change-counter.ts'
import {
  markAdmissions,
  markConnections,
  markDecisions,
  markJournalEntries,
  markRuleStates
} from './change-hooks.ts'
import { openConsoleSite, type Deps as SiteDeps } from './console-site.ts'
import { ConsoleChange } from './entities.ts'
import { Console0001 } from './migrations/0001-change.ts'
import { openPluginParts } from './plugin-parts.ts'
import { type Deps as RouteDeps, routes } from './routes.ts'
import { openShownClients } from './shown-clients.ts'
import { consoleCardSlot, consolePageSlot, consoleStepSlot } from './slots.ts'

type Deps = SiteDeps & RouteDeps & Services

export default definePlugin<Deps>({
  name: 'console',
  version: '1.1.0',
  description: 'Web console: pages for administrators and users.',
  kernel: '^2.0.0',
  needs: { auth: '^1.0.0', clients: '^1.0.0', http: '^1.0.0', rules: '^1.0.0' },
  store: { entities: [ConsoleChange], migrations: [{ name: '0001-change', class: Console0001 }] },
  slots: [consolePageSlot, consoleCardSlot, consoleStepSlot],
  services: {
    site: asFunction((deps: Deps) => openConsoleSite(deps)).singleton(),
    shownClients: asFunction(openShownClients).singleton(),
    changes: asFunction(
      (deps: Deps): ChangeCounter => openChangeCounter(deps, () => !deps.control.servers.isAlone())
    ).singleton(),
    parts: asFunction(openPluginParts).singleton()
  },
  fills: [
    siteSlot.fillWith(({ site }: Deps) => site),
    connectionSlot.fillWith(markConnections),
    requiredDecisionSlot.fillWith(markDecisions), // it writes nothing that could fail, so it needs no savepoint
    journalEntrySlot.fillWith(markJournalEntries),
    stateSlot.fillWith(markRuleStates),
    admissionChangedSlot.fillWith(markAdmissions)
  ],
  routes,
  async start({ deps: { parts } }) {
    await parts.load()
  }
})
