import { columnSlot, pushOptions } from '../rules/command-exports.ts'
import { field } from './field.ts'

/** Shows a state that all targets share, or how many of them are failed or ejected, and a reason that these share. */
const health = columnSlot.fill([
  'health',
  ({ targets }) => {
    const all = targets.map(target => shownHealth(Object(Object(target).health)))
    for (const state of ['failed', 'ejected']) {
      const down = all.filter(one => one.state === state)
      if (down.length === 0) continue
      const [{ reason } = { reason: null }] = down
      const isShared = typeof reason === 'string' && down.every(one => one.reason === reason)
      const shown = down.length === all.length ? state : `${down.length} of ${all.length} ${state}`
      return isShared ? `${shown}: ${reason}` : shown
    }
    return all.every(({ state }) => state === 'healthy') ? 'healthy' : 'unknown'
  }
])

interface ShownHealth {
  readonly state: unknown
  readonly reason: unknown
}

const shownHealth = ({
  state = 'unknown',
  reason = null,
  ejected_until = null,
  ejected_reason = null
}: Readonly<Record<string, unknown>>): ShownHealth =>
  state !== 'failed' && ejected_until !== null
    ? { state: 'ejected', reason: ejected_reason }
    : { state, reason }

export const fills = [pushOptions(field), health]
