import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { fills as commandFills, commands } from './commands.ts'
import { SourceFilter, SourceList } from './entities.ts'
import { explains } from './explain.ts'
import { invalidSources } from './fields.ts'
import { derived, type Lists, listInUse, listNotFound, openLists, type Services } from './lists.ts'
import { SourceFilter0001 } from './migrations/0001-source-filter.ts'
import { routes } from './routes.ts'
import { ruleFields } from './rule-fields.ts'
import { messages } from './wire.ts'

interface Deps extends Services {
  readonly lists: Lists
}

export default definePlugin<Deps>({
  name: 'source-filter',
  version: '1.0.0',
  description: 'Allows and denies source addresses on rules, with lists that rules can share.',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', http: '^1.0.0', rules: '^1.0.0' },
  codes: [invalidSources, listNotFound, listInUse],
  store: {
    entities: [SourceFilter, SourceList],
    migrations: [{ name: '0001-source-filter', class: SourceFilter0001 }]
  },
  services: { lists: asFunction(openLists).singleton() },
  fills: [...ruleFields, derived, explains, ...commandFills],
  messages,
  routes,
  commands
})
