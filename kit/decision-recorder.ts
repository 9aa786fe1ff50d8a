import { type Decision, decisionSlot } from '../kernel/http/principal.ts'
import { definePlugin, type Plugin } from '../kernel/plugin.ts'

/** Stands in for whoever keeps the record: a list of what was decided, completed in place. */
export const decisionRecorder = (decisions: Decision[]): Plugin =>
  definePlugin({
    name: 'watch',
    version: '1.0.0',
    kernel: '^1.0.0',
    fills: [
      decisionSlot.fill({
        async write(decision) {
          decisions.push(decision)
        },
        async complete(id, status, reason) {
          const at = decisions.findIndex(decision => decision.id === id)
          const found = decisions[at]
          if (found) decisions[at] = { ...found, status, reason }
        }
      })
    ]
  })
