import { Text } from '@mantine/core'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { EditLimits } from './EditLimits.tsx'
import { useLimits } from './limits.ts'

interface Props {
  readonly user: string
  readonly client_id: string
  readonly name: string // of the client
  readonly onDone: () => void // after a change
}

/** The form for the limits for all rules of a user on a client. */
export function LimitsOnClient({ user, client_id, name, onDone }: Props) {
  const limits = useLimits(client_id, user)
  return (
    <QueryResult query={limits}>
      {read => (
        <>
          <Text size="sm" role="status">
            {text.limits[read === null ? 'none' : read.value.enforced ? 'enforced' : 'pending']}
          </Text>
          <EditLimits
            key={read === null ? 'new' : 'stored'}
            opened={read}
            onDone={onDone}
            user={user}
            client_id={client_id}
            name={name}
          />
        </>
      )}
    </QueryResult>
  )
}
