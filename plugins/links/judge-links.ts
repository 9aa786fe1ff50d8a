// Judges the links of a server, as it has stored their states, and those of an agent, which tries them.
import { systemClock } from '../../kernel/base/clock.ts'
import type { DoctorContext, Finding } from '../cli/check-exports.ts'

export type FindingId = 'link.unreachable' | 'link.pin' | 'link.port'

/** A link that does not work. */
interface DownLink {
  readonly name: string
  readonly reason: string
}

const maxShown = 3

export const judgeLinks = (context: DoctorContext): Promise<Finding<FindingId>[]> =>
  context.role === 'server' ? judgeStored(context) : tryLinks(context)

interface Row {
  readonly near: string
  readonly far: string
  readonly reason: string | null
}

/** Links of clients that are away are the subject of other checks. */
async function judgeStored({ query, isRunning }: DoctorContext): Promise<Finding<FindingId>[]> {
  if (!isRunning) return [{ ok: 'the server does not run, so it does not know the state of links' }]
  const rows = await query<Row>(
    'links',
    `select near.name as near, far.name as far, state_reason as reason from links
     join kernel_client near on near.id = near_id join kernel_client far on far.id = far_id
     where state = 'down' and state_reason not in ('peer_away', 'peer_revoked') order by links.id`
  )
  const down = rows.map(({ near, far, reason }) => ({
    name: `${near}/${far}`,
    reason: reason ?? 'unreachable'
  }))
  return findingsOf(down, 'no link is down')
}

interface AgentLinkRow {
  readonly peer: string
  readonly state: string
  readonly role: string | null
  readonly reason: string | null
}

async function tryLinks({ dir, isRunning }: DoctorContext): Promise<Finding<FindingId>[]> {
  if (!isRunning) return [{ ok: 'no agent runs, so its links are not tried' }]
  const { askAgent } = await import('../../agent/local/ask-agent.ts') // loads slowly
  const answer = await askAgent(dir, { command: 'links', args: { retry: true } }, systemClock)
  const links = answer as readonly AgentLinkRow[] // of the agent half of this plugin
  const down = links.flatMap(({ peer: name, state, role, reason }) =>
    state === 'down' ? [{ name, reason: reasonFor(role, reason ?? 'unreachable') }] : []
  )
  return findingsOf(down, links.length === 1 ? '1 link works' : `${links.length} links work`)
}

/** A dialer that is denied by its deny_targets has no problem with a port. */
const reasonFor = (role: string | null, reason: string): string =>
  role === 'dialer' && reason === 'denied_by_agent' ? 'deny_targets' : reason

const kindOf = ({ reason }: DownLink): FindingId => {
  if (reason === 'pin_mismatch') return 'link.pin'
  return reason === 'port_in_use' || reason === 'denied_by_agent' ? 'link.port' : 'link.unreachable'
}

/** Returns one finding for each kind; the first links are named. */
function findingsOf(down: readonly DownLink[], ok: string): Finding<FindingId>[] {
  if (down.length === 0) return [{ ok }]
  return [...Map.groupBy(down, kindOf)].map(([id, links]) => {
    const shown = links.slice(0, maxShown).map(({ name, reason }) => `${name} (${reason})`)
    const more = links.length > maxShown ? ` and ${links.length - maxShown} more` : ''
    return { id, message: `${shown.join(', ')}${more}` }
  })
}
