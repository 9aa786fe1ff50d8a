import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { listFilterSlots, recordFieldSlots } from '../http/exports.ts'
import { type Rules, removedSlot } from '../rules/exports.ts'
import { fills as commandFills, commands } from './commands.ts'
import { Label } from './entities.ts'
import { enrollmentLabels, recordLabels, ruleLabels, selectorFilter } from './fields.ts'
import * as labelStore from './label-store.ts'
import { invalidLabels } from './labels.ts'
import { Labels0001 } from './migrations/0001-labels.ts'
import { invalidSelector } from './selector.ts'

interface Deps extends Kernel {
  readonly rules: Rules
}

export default definePlugin<Deps>({
  name: 'labels',
  version: '1.0.0',
  description: 'Labels on rules, clients, users and grants, and selectors for their lists.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', users: '^1.0.0', rules: '^1.0.0' },
  codes: [invalidLabels, invalidSelector],
  store: { entities: [Label], migrations: [{ name: '0001-labels', class: Labels0001 }] },
  fills: [
    ...commandFills,
    ruleLabels,
    removedSlot.fill(({ id }, em) => labelStore.remove('rule', [id], em)),
    recordFieldSlots.client.fillWith(recordLabels('client')),
    recordFieldSlots.enrollment.fill(enrollmentLabels),
    recordFieldSlots.user.fillWith(recordLabels('user')),
    recordFieldSlots.grant.fillWith(recordLabels('grant')),
    recordFieldSlots.link.fillWith(recordLabels('link')),
    listFilterSlots.client.fill(selectorFilter('client')),
    listFilterSlots.user.fill(selectorFilter('user')),
    listFilterSlots.grant.fill(selectorFilter('grant')),
    listFilterSlots.rule.fill(selectorFilter('rule')),
    listFilterSlots.link.fill(selectorFilter('link'))
  ],
  commands,
  start: ({ deps: { store, rules } }) => store.change(em => labelStore.deleteOrphans(rules, em))
})
