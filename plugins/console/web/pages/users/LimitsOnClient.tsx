import { Text } from '@mantine/core'
import { Facts } from '../../parts/Facts.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { EditLimits } from './EditLimits.tsx'
import { type Envelope, limitNames, toValues, useLimits } from './limits.ts'

interface Props {
  readonly user: string
  readonly mayChange: boolean
  readonly client_id: string
  readonly name: string
  readonly onDone?: () => void // after a change
}

/** Limits for all rules of a user on a client, read-only or editable. */
export function LimitsOnClient({ user, mayChange, client_id, name, onDone }: Props) {
  const limits = useLimits(client_id, user)
  return (
    <QueryResult query={limits}>
      {read => (
        <>
          <Text size="sm" role="status">
            {read === null
              ? text.limits.none
              : read.value.enforced
                ? text.limits.enforced
                : text.limits.pending}
          </Text>
          {mayChange ? (
            <EditLimits
              key={read === null ? 'new' : 'stored'}
              opened={read}
              onDone={onDone}
              user={user}
              client_id={client_id}
              name={name}
            />
          ) : (
            read && <LimitFacts limit={read.value.rate_limit} />
          )}
        </>
      )}
    </QueryResult>
  )
}

function LimitFacts({ limit }: { readonly limit: Envelope['rate_limit'] }) {
  const values = toValues(limit)
  return (
    <Facts
      facts={[
        ...limitNames.map(name => ({
          name: text.limits[name],
          value: values[name] === '' ? null : values[name]
        }))
      ]}
    />
  )
}
