import { Type } from '../../kernel/cli/args.ts'
import { columnSlot, pushOptionsSlot } from '../rules/command-exports.ts'

const pushOptions = pushOptionsSlot.fill({
  args: {
    health_interval: Type.Optional(
      Type.Integer({ description: 'Seconds between connection attempts to each target, 1 to 3600.' })
    )
  },
  body: ({ health_interval: secs }) => (secs === undefined ? {} : { health_check_interval_secs: secs })
})

/** 'healthy' and 'failed' are of all targets; of several, some may be failed. */
const health = columnSlot.fill([
  'health',
  ({ targets }) => {
    const states = targets.map(target => Object(Object(target).health).state ?? 'unknown')
    const failed = states.filter(state => state === 'failed').length
    if (failed > 0) return failed === states.length ? 'failed' : `${failed} of ${states.length} failed`
    return states.every(state => state === 'healthy') ? 'healthy' : 'unknown'
  }
])

export const fills = [pushOptions, health]
