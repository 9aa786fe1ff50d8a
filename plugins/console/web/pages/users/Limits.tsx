import { Paper, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Empty } from '../../parts/Empty.tsx'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Section } from '../../parts/Section.tsx'
import { text } from '../../text/text.ts'
import { EdgeSelect } from '../edges/EdgeSelect.tsx'
import { useEdges } from '../edges/queries.ts'
import { EditLimits } from './EditLimits.tsx'
import { type Envelope, fieldNames, useLimits, valuesOf } from './limits.ts'

interface Props {
  readonly user: string
  readonly mayChange?: true
}

/** The limits of all rules of a user on one edge together. */
export function Limits({ user, mayChange }: Props) {
  const edges = useEdges()
  const [chosen, choose] = useState('')
  const edge = edges.data?.find(({ client_id }) => client_id === chosen) ?? edges.data?.[0]
  return (
    <Section title={text.limits.title} note={text.limits.text}>
      <Loaded query={edges}>
        {() =>
          edge === undefined ? (
            <Empty what={text.limits.noEdges} />
          ) : (
            <Paper withBorder p="md">
              <Stack>
                <EdgeSelect label={text.grants.edge} value={edge.client_id} onChange={choose} />
                <OnEdge
                  key={edge.client_id}
                  {...{ user, mayChange }}
                  client_id={edge.client_id}
                  name={edge.client_name}
                />
              </Stack>
            </Paper>
          )
        }
      </Loaded>
    </Section>
  )
}

interface EdgeProps {
  readonly user: string
  readonly mayChange: true | undefined
  readonly client_id: string
  readonly name: string
}

function OnEdge({ user, mayChange, client_id, name }: EdgeProps) {
  const limits = useLimits(client_id, user)
  const [form, setForm] = useState(0) // another number: the form begins anew with what is there
  const begin = async (): Promise<void> => {
    await limits.refetch()
    setForm(form + 1)
  }
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
            <EditLimits key={form} opened={read} onSaved={begin} {...{ user, client_id, name }} />
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
