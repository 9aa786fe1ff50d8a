import { Group, Text } from '@mantine/core'
import { DialogButton } from '../../parts/dialog/DialogButton.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { formatValue } from '../rules/detail/format-value.ts'
import { EditLimits } from './EditLimits.tsx'
import { type Envelope, limitNames, useLimits } from './limits.ts'

interface Props {
  readonly user: string
  readonly mayChange: boolean
  readonly client_id: string
  readonly name: string // of the client
}

/** The limits that are set for all rules of a user on a client, with a dialog to change them. */
export function LimitsSummary({ user, mayChange, client_id, name }: Props) {
  const limits = useLimits(client_id, user)
  return (
    <QueryResult query={limits}>
      {read => (
        <>
          <Group justify="space-between">
            <Text size="sm" role="status">
              {read === null ? text.limits.none : text.limits[read.value.enforced ? 'enforced' : 'pending']}
            </Text>
            {mayChange && (
              <DialogButton
                label={read === null ? text.limits.set : text.limits.change}
                title={text.limits.of(user, name)}
                size="xs"
              >
                {close => (
                  <EditLimits opened={read} user={user} client_id={client_id} name={name} onDone={close} />
                )}
              </DialogButton>
            )}
          </Group>
          {read && <LimitFacts limit={read.value.rate_limit} />}
        </>
      )}
    </QueryResult>
  )
}

const LimitFacts = ({ limit }: { readonly limit: Envelope['rate_limit'] }) => (
  <Facts
    facts={limitNames
      .filter(name => limit[name] !== undefined)
      .map(name => ({ name: text.fields[name] ?? name, value: formatValue(limit[name], name) }))}
  />
)
