import type { AskedCaller, ExplainStep } from '../../agent/plugin.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import type { BanBook } from './ban-book.ts'
import { type Ban, refusal } from './wire.ts'

/** Explains how bans affect a caller. Behind a proxy, bans apply to the address in the PROXY header. */
export function explainBan(
  book: BanBook,
  { path: { spec, plan }, source, refused }: AskedCaller,
  now: number
): ExplainStep[] {
  const bans = book.bansOn(spec.id, now)
  if (bans.length === 0) return []
  const ban = source === null || plan.firstRead ? undefined : book.longestBan(source, spec.id, now)
  if (ban) {
    const { id, source: banned, until_ms, cause, rule_id } = ban
    const from = rule_id === '' ? 'all rules of the client' : 'this rule'
    const text = `${banned} is banned from ${from} until ${timestamp(until_ms)} by ${causeTexts[cause]}: \`sluice ban list\` shows the reason, \`sluice ban remove ${banned}\` lifts it`
    return [{ kind: 'ban', id, verdict: 'stop', reason: refusal, text }]
  }
  const addressHint = plan.firstRead
    ? '; bans apply to the address in the PROXY header, not to the proxy'
    : ''
  const lately = refused.get(refusal)?.isLast ? '; the last caller was banned' : ''
  const text = `${bans.length} ${bans.length === 1 ? 'source is' : 'sources are'} banned from it now${lately}${addressHint}`
  return [{ kind: 'ban', id: spec.id, verdict: 'info', reason: null, text }]
}

const causeTexts = {
  operator: 'an operator',
  new_connections: 'the agent, for too many new connections',
  failed_handshakes: 'the agent, for failed handshakes'
} as const satisfies Record<Ban['cause'], string>
