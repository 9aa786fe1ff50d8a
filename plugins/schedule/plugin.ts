import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { expirySlot } from '../http/exports.ts'
import { fills as commandFills } from './commands.ts'
import { RuleTimes } from './entities.ts'
import { keys, openExpiry } from './expiry.ts'
import { ruleExpiry } from './expiry-source.ts'
import { explains } from './explain.ts'
import { Schedule0001 } from './migrations/0001-schedule.ts'
import { codes, type Deps, ruleFields } from './rule-fields.ts'
import { states } from './states.ts'

export default definePlugin<Deps>({
  name: 'schedule',
  version: '1.0.0',
  description: 'Opens and closes rules by start time, end time and weekly hours.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', rules: '^1.0.0' },
  keys,
  codes,
  store: { entities: [RuleTimes], migrations: [{ name: '0001-schedule', class: Schedule0001 }] },
  services: { expiry: asFunction(openExpiry).singleton() },
  fills: [...ruleFields, ...states, explains, expirySlot.fill(ruleExpiry), ...commandFills],
  async start({ deps: { expiry }, defer }) {
    defer(() => void expiry.stop())
    await expiry.run()
  }
})
