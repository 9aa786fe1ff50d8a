import type { Row } from '../../api/call.ts'
import { Timestamp } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'

export type Token = Row<'GET /v1/users/{user_id}/credentials'>

export function stateOf({ revoked_at, expires_at }: Token): keyof typeof text.tokens.states {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'valid'
}

export const nameOf = ({ label }: Token): string => label || text.tokens.unnamed

const timeColumn = (
  name: 'created' | 'used' | 'expires',
  timeOf: (token: Token) => string | null
): Column<Token> => ({
  id: name,
  title: text.tokens[name],
  value: token => Date.parse(timeOf(token) ?? '') || 0,
  cell: token => {
    const at = timeOf(token)
    return at === null ? (
      text.when.never
    ) : (
      <Timestamp at={at} {...(name !== 'expires' && { format: 'ago' })} />
    )
  },
  width: 8,
  wide: true
})

export const tokenColumns: readonly Column<Token>[] = [
  { id: 'label', title: text.tokens.label, value: nameOf },
  {
    id: 'state',
    title: text.tokens.state,
    value: token => text.tokens.states[stateOf(token)],
    cell: token => (
      <span>
        <span
          className="dot"
          data-tone={stateOf(token) === 'valid' ? 'good' : undefined}
          aria-hidden="true"
        />
        {text.tokens.states[stateOf(token)]}
      </span>
    ),
    width: 7,
    wide: true
  },
  timeColumn('created', ({ created_at }) => created_at),
  timeColumn('used', ({ last_used_at }) => last_used_at),
  timeColumn('expires', ({ expires_at }) => expires_at)
]
