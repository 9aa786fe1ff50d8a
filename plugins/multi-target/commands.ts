import { columnSlot, pushOptions } from '../rules/command-exports.ts'
import { field } from './field.ts'

/** Shows a state that all targets share, or how many of them are failed or ejected. */
const health = columnSlot.fill([
  'health',
  ({ targets }) => {
    const states = targets.map(target => shownState(Object(Object(target).health)))
    for (const state of ['failed', 'ejected']) {
      const count = states.filter(one => one === state).length
      if (count > 0) return count === states.length ? state : `${count} of ${states.length} ${state}`
    }
    return states.every(state => state === 'healthy') ? 'healthy' : 'unknown'
  }
])

const shownState = ({
  state = 'unknown',
  ejected_until = null
}: Readonly<Record<string, unknown>>): unknown =>
  state !== 'failed' && ejected_until !== null ? 'ejected' : state

export const fills = [pushOptions(field), health]
