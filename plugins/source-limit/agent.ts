// The agent half: the engine counts each source by itself. A change counts for connections that begin later.
import {
  type AgentPlugin,
  type AskedCaller,
  defineField,
  type ExplainStep,
  type SourceLimit
} from '../../agent/plugin.ts'
import { capability, defaultWithinSecs, key, Limit, refusal } from './wire.ts'

function* limitsOf(id: string, limit: Limit): Generator<SourceLimit> {
  const { connections, new_connections, within_secs = defaultWithinSecs } = limit
  const perMs = within_secs * 1000
  if (new_connections !== undefined)
    yield { name: `source-limit new ${id}`, of: 'new', max: new_connections, perMs, refusal }
  if (connections !== undefined)
    yield { name: `source-limit open ${id}`, of: 'open', max: connections, perMs: 1, refusal }
}

/** The engine counts new connections by itself: of them only a refusal that has just been tells. */
function explain({ path: { spec, plan }, source, open, refused }: AskedCaller): ExplainStep[] {
  const own = plan.sourceLimits.filter(limit => limit.refusal === refusal)
  const [atOnce, fresh] = [own.find(({ of }) => of === 'open'), own.find(({ of }) => of === 'new')]
  if (!atOnce && !fresh) return []
  const lately = refused.get(refusal)
  const step = { kind: 'limit', id: `source ${source ?? 'any'}` } as const
  const stop = { ...step, verdict: 'stop', reason: refusal } as const
  const isAsked = source !== null && !plan.firstRead
  if (isAsked && atOnce && open >= atOnce.max)
    return [
      { ...stop, text: `${source} has ${open} connections open of ${atOnce.max}: a new one is refused` }
    ]
  if (isAsked && fresh && lately?.isLast && lately.agoMs < fresh.perMs)
    return [{ ...stop, text: `the last caller was refused: a source may begin ${rateOf(fresh)}` }]
  const limits = [
    ...(atOnce ? [`have ${atOnce.max} connections open`] : []),
    ...(fresh ? [`begin ${rateOf(fresh)}`] : [])
  ]
  const whose = plan.firstRead ? '; the source is the address in the PROXY header, not the proxy' : ''
  const last = lately?.isLast ? '; the last caller was refused' : ''
  const text = `each source may ${limits.join(' and ')} on ${plan.protocol} port ${spec.from}${last}${whose}`
  return [{ ...step, verdict: 'info', reason: null, text }]
}

const rateOf = ({ max, perMs }: SourceLimit): string => `${max} connections in ${perMs / 1000} s`

export default {
  name: 'source-limit',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Limit],
  fields: [
    defineField({
      key,
      message: Limit,
      plan(limit, draft, { id }) {
        draft.sourceLimits = [...draft.sourceLimits, ...limitsOf(id, limit)]
      }
    })
  ],
  explain
} satisfies AgentPlugin
