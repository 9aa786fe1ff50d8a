import { Text } from '@mantine/core'
import { useForms } from '../../api/use-form-reset.ts'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { EditLimits } from './EditLimits.tsx'
import { type Envelope, fieldNames, useLimits, valuesOf } from './limits.ts'

interface Props {
  readonly user: string
  readonly mayChange?: true | undefined
  readonly client_id: string
  readonly name: string
  readonly onDone?: () => void // after a change
}

/** The limits of all rules of a user on an edge together, to see or to change. */
export function LimitsOnEdge({ user, mayChange, client_id, name, onDone }: Props) {
  const limits = useLimits(client_id, user)
  const { form, begin } = useForms(limits)
  return (
    <Loaded query={limits}>
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
              key={form}
              opened={read}
              onSaved={() => begin().then(onDone)}
              {...{ user, client_id, name }}
            />
          ) : (
            read && <Shown limit={read.value.rate_limit} />
          )}
        </>
      )}
    </Loaded>
  )
}

function Shown({ limit }: { readonly limit: Envelope['rate_limit'] }) {
  const values = valuesOf(limit)
  return (
    <Facts>
      {fieldNames.map(name => (
        <Fact key={name} name={text.limits[name]}>
          {values[name] === '' ? null : values[name]}
        </Fact>
      ))}
    </Facts>
  )
}
