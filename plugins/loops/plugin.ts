import { definePlugin } from '../../kernel/plugin.ts'
import { journalEntrySlot, journalKindSlot } from '../rules/exports.ts'
import { fills as commandFills } from './commands.ts'
import { explains } from './explain.ts'
import { openLoopWatch, type Services } from './loop-watch.ts'

export default definePlugin<Services>({
  name: 'loops',
  version: '1.0.0',
  description: 'Finds rules that forward to each other in a circle.',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', rules: '^1.0.0' },
  fills: [journalEntrySlot.fillWith(openLoopWatch), journalKindSlot.fill('loop'), explains, ...commandFills]
})
