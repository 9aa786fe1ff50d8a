import type { Row } from '../../api/call.ts'
import { longTextColumn, stateColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'

export type Token = Row<'GET /v1/users/{user_id}/credentials'>

export function stateOf({ revoked_at, expires_at }: Token): keyof typeof text.tokens.states {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'valid'
}

export const nameOf = ({ label }: Token): string => label || text.tokens.unnamed

export const tokenColumns: readonly Column<Token>[] = [
  { id: 'label', title: text.tokens.label, value: nameOf },
  stateColumn('state', text.tokens.state, shownState, { width: 7 }),
  timeColumn('created_at', text.tokens.created, { format: 'ago', width: 8 }),
  timeColumn('last_used_at', text.tokens.used, { format: 'ago', width: 8 }),
  timeColumn('expires_at', text.tokens.expires, { width: 8 }),
  longTextColumn('scopes', text.tokens.scopes, limitsText, { width: 8 })
]

/** Returns the scopes of a token, and its allowed networks if they are limited. */
function limitsText({ scopes, allowed_sources }: Token): string {
  const named = scopes?.join(', ') ?? text.tokens.accesses.all
  return allowed_sources ? `${named} · ${allowed_sources.join(', ')}` : named
}

function shownState(token: Token): readonly [label: string, tone: 'good' | undefined] {
  const state = stateOf(token)
  return [text.tokens.states[state], state === 'valid' ? 'good' : undefined]
}
