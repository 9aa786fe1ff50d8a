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

/** 'healthy', 'failed' and 'ejected' are of all targets; of several, some may be failed or ejected. */
const health = columnSlot.fill([
  'health',
  ({ targets }) => {
    const states = targets.map(target => stateOf(Object(Object(target).health)))
    for (const state of ['failed', 'ejected']) {
      const count = states.filter(one => one === state).length
      if (count > 0) return count === states.length ? state : `${count} of ${states.length} ${state}`
    }
    return states.every(state => state === 'healthy') ? 'healthy' : 'unknown'
  }
])

const stateOf = ({ state = 'unknown', ejected_until = null }: Readonly<Record<string, unknown>>): unknown =>
  state !== 'failed' && ejected_until !== null ? 'ejected' : state

export const fills = [pushOptions, health]
