// The agent half: the engine counts the connections of each source. A change applies to new connections.
import {
  type AgentPlugin,
  type AskedCaller,
  defineField,
  type ExplainStep,
  type SourceLimit
} from '../../agent/plugin.ts'
import { defaultWithinSecs, field, refusal } from './field.ts'

const sourceLimit = defineField({
  ...field,
  plan({ connections, new_connections, within_secs = defaultWithinSecs }, draft, { id }) {
    const limits: SourceLimit[] = [...draft.sourceLimits]
    if (new_connections !== undefined) {
      const perMs = within_secs * 1000
      limits.push({ name: `source-limit new ${id}`, of: 'new', max: new_connections, perMs, refusal })
    }
    if (connections !== undefined)
      limits.push({ name: `source-limit open ${id}`, of: 'open', max: connections, perMs: 1, refusal })
    draft.sourceLimits = limits
  }
})

/** Only the engine counts new connections, so a recent refusal is the only sign of that limit. */
function explain({ path: { spec, plan }, source, open, refused }: AskedCaller): ExplainStep[] {
  const own = plan.sourceLimits.filter(limit => limit.refusal === refusal)
  const atOnce = own.find(({ of }) => of === 'open')
  const fresh = own.find(({ of }) => of === 'new')
  if (!atOnce && !fresh) return []
  const lately = refused.get(refusal)
  const step = { kind: 'limit', id: `source ${source ?? 'any'}` } as const
  const stop = { ...step, verdict: 'stop', reason: refusal } as const
  const isAsked = source !== null && !plan.firstRead
  if (isAsked && atOnce && open >= atOnce.max)
    return [
      {
        ...stop,
        text: `${source} has ${open} of ${atOnce.max} allowed connections open: new ones are refused`
      }
    ]
  if (isAsked && fresh && lately?.isLast && lately.agoMs < fresh.perMs)
    return [{ ...stop, text: `the last caller was refused: a source may begin ${formatRate(fresh)}` }]
  const limits = [
    ...(atOnce ? [`have ${atOnce.max} connections open`] : []),
    ...(fresh ? [`begin ${formatRate(fresh)}`] : [])
  ]
  const note = plan.firstRead ? '; the source is the address in the PROXY header, not the proxy' : ''
  const last = lately?.isLast ? '; the last caller was refused' : ''
  const text = `each source may ${limits.join(' and ')} on ${plan.protocol} port ${spec.from}${last}${note}`
  return [{ ...step, verdict: 'info', reason: null, text }]
}

const formatRate = ({ max, perMs }: SourceLimit): string => `${max} connections in ${perMs / 1000} s`

export default {
  name: 'source-limit',
  agent: '^1.5.0',
  fields: [sourceLimit],
  explain
} satisfies AgentPlugin
