import type { Row } from '../../api/call.ts'
import { When } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'

export type Credential = Row<'GET /v1/users/{user_id}/credentials'>

export function stateOf({ revoked_at, expires_at }: Credential): keyof typeof text.credentials.states {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'valid'
}

export const nameOf = ({ label }: Credential): string => label || text.credentials.unnamed

const timeColumn = (
  name: 'created' | 'used' | 'expires',
  of: (credential: Credential) => string | null
): Column<Credential> => ({
  id: name,
  title: text.credentials[name],
  value: credential => Date.parse(of(credential) ?? '') || 0,
  cell: credential => {
    const at = of(credential)
    return at === null ? text.when.never : <When at={at} {...(name !== 'expires' && { form: 'ago' })} />
  },
  width: 8,
  wide: true
})

export const columns: readonly Column<Credential>[] = [
  { id: 'label', title: text.credentials.label, value: nameOf },
  {
    id: 'state',
    title: text.credentials.state,
    value: credential => text.credentials.states[stateOf(credential)],
    cell: credential => (
      <span>
        <span
          className="dot"
          data-tone={stateOf(credential) === 'valid' ? 'good' : undefined}
          aria-hidden="true"
        />
        {text.credentials.states[stateOf(credential)]}
      </span>
    ),
    width: 7,
    wide: true
  },
  timeColumn('created', ({ created_at }) => created_at),
  timeColumn('used', ({ last_used_at }) => last_used_at),
  timeColumn('expires', ({ expires_at }) => expires_at)
]
