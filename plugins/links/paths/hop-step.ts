// One hop of a path as an explanation shows it: it passes, or it says why it refuses.
import type { ExplainStep } from '../../rules/exports.ts'
import type { LinkRow } from '../entities.ts'
import type { HopState } from '../wire.ts'

interface Party {
  readonly name: string
  readonly isRevoked: boolean
}

export interface Hop {
  readonly link: Pick<LinkRow, 'id' | 'state' | 'stateReason'>
  readonly near: Party
  readonly far: Party
  readonly isGranted: boolean // the owner of the rule may use the far client
  /** The answers of both agents; null: none. */
  readonly nearSays: HopState | null
  readonly farSays: HopState | null
}

interface Refusal {
  readonly reason: string
  readonly text: string
}

const step = ({ link: { id } }: Pick<Hop, 'link'>): Pick<ExplainStep, 'kind' | 'id'> => ({ kind: 'link', id })

export function hopStep(hop: Hop): ExplainStep {
  const refusal = refusalOf(hop)
  if (refusal) return { ...step(hop), verdict: 'stop', ...refusal }
  return { ...step(hop), verdict: 'pass', reason: null, text: passText(hop) }
}

/** Returns the step of a hop that has refused a probe with this reason. */
export function refusedStep(hop: Hop, reason: string): ExplainStep {
  const text = refusalTexts[reason]?.(hop) ?? `${nameOf(hop)} refuses the caller: ${reason}`
  return { ...step(hop), verdict: 'stop', reason, text }
}

const nameOf = ({ near, far }: Pick<Hop, 'near' | 'far'>): string =>
  `the link from ${near.name} to ${far.name}`

/** Texts of the refusals that agents decide. */
const refusalTexts: Readonly<Record<string, (hop: Hop) => string>> = {
  link_down: hop => `${nameOf(hop)} is down`,
  link_exhausted: hop => `${nameOf(hop)} has had no free connection for 3 s: look at its state and its loss`,
  rule_unknown: ({ far }) =>
    `${far.name} has not received its part of the rule; connect its agent to the server`,
  denied_by_exit: ({ far }) =>
    `${far.name} refuses it: see allow_exit, exit_entries, allow_targets and deny_targets in the configuration of its agent`
}

const refuse = (reason: string, hop: Hop): Refusal => ({
  reason,
  text: refusalTexts[reason]?.(hop) ?? reason
})

/** Judges in the order of a caller: the server's decisions, the link, the far client. */
function refusalOf(hop: Hop): Refusal | null {
  const { far, isGranted, nearSays, farSays } = hop
  if (far.isRevoked)
    return { reason: 'exit_revoked', text: `${far.name} is revoked: remove it from the path` }
  if (!isGranted)
    return {
      reason: 'exit_not_granted',
      text: `no exit grant of the rule's owner covers ${far.name} any more`
    }
  const down = downReason(hop)
  if (down !== null) return downRefusal(down, hop)
  if (nearSays?.is_exhausted) return refuse('link_exhausted', hop)
  const { refusal } = farSays ?? {}
  if (refusal === undefined) return null
  return refuse(refusal === 'denied_by_exit' ? refusal : 'rule_unknown', hop)
}

/** Returns why the link is down; null: it is not. The near agent knows if it is down, the server often better why. */
function downReason({ link, nearSays }: Hop): string | null {
  const stored = link.state === 'down' ? (link.stateReason ?? 'unreachable') : null
  if (nearSays === null) return stored
  if (nearSays.state === undefined) return stored ?? 'unreachable' // its agent does not have the link yet
  return nearSays.state === 'down' ? (stored ?? nearSays.reason ?? 'unreachable') : null
}

function downRefusal(why: string, hop: Hop): Refusal {
  const name = nameOf(hop)
  if (why === 'pin_mismatch')
    return {
      reason: why,
      text: `${name}: another key answers than the server says. Connect both agents to the server`
    }
  if (why === 'no_endpoint')
    return {
      reason: 'link_no_endpoint',
      text: `${name} has no endpoint: run sluice client set-link for one of the two`
    }
  if (why === 'peer_revoked')
    return { reason: 'exit_revoked', text: `${name} is cut: one of the two clients is revoked` }
  return { reason: 'link_down', text: `${name} is down: ${why}` }
}

function passText(hop: Hop): string {
  const { far, link, nearSays, farSays } = hop
  const rtt = nearSays?.rtt_ms
  const state = nearSays?.state ?? link.state
  const isUp = state === 'up' || state === 'degraded'
  const shown = isUp ? 'up' : 'connecting: callers wait for up to 3 s'
  const trip = rtt === undefined ? '' : `, round trip ${Math.round(rtt * 10) / 10} ms`
  const silent = farSays === null ? `; ${far.name} has not answered the server` : ''
  return `${nameOf(hop)} is ${shown}${trip}${silent}`
}
