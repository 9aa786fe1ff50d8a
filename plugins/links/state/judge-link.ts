// Decides the state of a link from the reports of both agents and from what the server knows.
import type { LinkRow, LinkState } from '../entities.ts'
import { downReasons, type LinkStatus } from '../wire.ts'
import { type BothReports, isLossy } from './link-reports.ts'

export interface JudgedState {
  readonly state: LinkState
  readonly reason: string | null
}

/** Facts that the server knows about a link. */
export interface Facts {
  readonly isActive: boolean // an active rule needs it
  readonly isRevoked: boolean // one of the two clients
  readonly hasHosts: boolean // a listener has an endpoint with known hosts
  readonly areConnected: boolean // both agents, to the server
}

const down = (reason: string): JudgedState => ({ state: 'down', reason })
const isKnown = (reason: string): boolean => downReasons.some(known => known === reason)

/** Reasons that tell more than those of the other end. */
const precise = ['pin_mismatch', 'port_in_use', 'denied_by_agent']

export function judgeLink(facts: Facts, reports: BothReports): JudgedState {
  if (!facts.isActive) return { state: 'unused', reason: null }
  if (facts.isRevoked) return down('peer_revoked')
  if (!facts.hasHosts) return down('no_endpoint')
  const report = decisive(reports)
  if (report?.state === 'up')
    return isLossy(report) ? { state: 'degraded', reason: 'loss' } : { state: 'up', reason: null }
  if (!facts.areConnected) return down('peer_away')
  if (report?.state === 'down') return down(knownReason(report))
  return { state: 'connecting', reason: null }
}

const knownReason = ({ reason = '' }: LinkStatus): string => (isKnown(reason) ? reason : 'unreachable')

/**
 * Returns the report that decides. The near client pings, so it knows best if the link answers; while it does not, the
 * dialer knows best why.
 */
function decisive({ near, far }: BothReports): LinkStatus | undefined {
  if (!near || !far) return near ?? far
  if (near.state === 'up' || near.state === 'connecting') return near
  const reports = [near, far]
  return (
    reports.find(({ reason }) => precise.includes(reason ?? '')) ??
    reports.find(({ role, state }) => role === 'dialer' && state === 'down') ??
    near
  )
}

/** True if the link carries connections, or should. Journals record changes between such states. */
export const isSettledState = ({ state }: Pick<LinkRow, 'state'>): boolean =>
  state === 'up' || state === 'degraded' || state === 'down'
